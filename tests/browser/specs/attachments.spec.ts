/** Files that are sent with a message: the model gets pictures as pictures, and the page shows them. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import type { Asked } from "../house/model";
import { composer, expect, expectAccessible, lastOfUser, messages, picture, say, test } from "../house/test";

/** A picture that the page itself draws, so that its size is known. */
async function drawn(page: Page, width: number): Promise<Buffer> {
  const address = await page.evaluate((wide) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: wide, height: 20 });
    const paint = canvas.getContext("2d");
    if (paint !== null) paint.fillStyle = "teal";
    paint?.fillRect(0, 0, wide, 20);
    return canvas.toDataURL("image/png");
  }, width);
  return Buffer.from(address.split(",")[1] ?? "", "base64");
}

/** The pictures in the message that the model was asked to answer, in base64. */
function pictures(asked: Asked | undefined): string[] {
  const content = asked?.messages.findLast((message) => message.role === "user")?.content;
  const parts = Array.isArray(content) ? (content as { type: string; image_url?: { url: string } }[]) : [];
  const addresses = parts.filter((part) => part.type === "image_url").map((part) => part.image_url?.url ?? "");
  for (const address of addresses) expect(address).toMatch(/^data:image\/png;base64,/);
  return addresses.map((address) => address.replace("data:image/png;base64,", ""));
}

/** Every file below a directory. */
function filesBelow(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

const attachments = (page: Page) => page.getByRole("list", { name: "Attachments" });

test("an attached picture is sent to the model as a picture, and is shown in the message", async ({ page, model, laptop }) => {
  model.answersWith({ say: "It is teal." }, { say: "It still is." });
  const image = await drawn(page, 30);
  const chooser = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Attach files" }).click();
  await (await chooser).setFiles([
    { name: "sea.png", mimeType: "image/png", buffer: image },
    { name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("no picture") },
  ]);
  await expect(attachments(page).getByRole("listitem")).toHaveText(["sea.png", "notes.txt"]);
  await expect(attachments(page).locator("[aria-busy=true]")).toHaveCount(0);
  await say(page, "What colour is it?");
  await expect(messages(page, "assistant").last()).toContainText("It is teal.");
  const asked = model.asked.find((one) => lastOfUser(one).startsWith("What colour is it?"));
  expect(pictures(asked)).toEqual([image.toString("base64")]);
  // The model also gets the paths, under which its tools find the files.
  for (const name of ["sea.png", "notes.txt"]) expect(lastOfUser(asked as Asked)).toMatch(new RegExp(`\\[attached: \\S*${name} on laptop\\]`));
  expect(filesBelow(laptop.workspace).some((path) => path.endsWith("sea.png") && readFileSync(path).equals(image))).toBe(true);

  const said = messages(page, "user").last();
  const shown = said.getByRole("img", { name: "Attached image sea.png" });
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    await expect(shown).toHaveJSProperty("naturalWidth", 30);
    await expect(said.getByRole("link", { name: "notes.txt" })).toBeVisible();
    // The lines that name the files for the model are not part of the text that is shown.
    await expect(said).not.toContainText("[attached:");
  }
  await expectAccessible(page);
  await picture(page, "attached");
  // The picture stays in the conversation.
  await say(page, "And now?");
  await expect(messages(page, "assistant").last()).toContainText("It still is.");
  expect(JSON.stringify(model.asked.find((one) => lastOfUser(one).startsWith("And now?")))).toContain(image.toString("base64"));
});

test("a pasted picture is attached, and sent to the model as a picture", async ({ page, model }) => {
  model.answersWith({ say: "A screenshot." });
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const image = await drawn(page, 40);
  await page.evaluate(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    await navigator.clipboard.write([new ClipboardItem({ "image/png": new Blob([bytes], { type: "image/png" }) })]);
  }, image.toString("base64"));
  await composer(page).focus();
  await page.keyboard.press("Control+V");
  await expect(attachments(page).getByRole("listitem")).toHaveCount(1);
  await expect(attachments(page).locator("[aria-busy=true]")).toHaveCount(0);
  await expect(composer(page)).toHaveValue("");
  await say(page, "What is this?");
  await expect(messages(page, "assistant").last()).toContainText("A screenshot.");
  // The browser encodes the picture of a clipboard again, so its bytes differ.
  const sent = pictures(model.asked.find((one) => lastOfUser(one).startsWith("What is this?")));
  expect(sent).toHaveLength(1);
  const pixels = Buffer.from(sent[0] ?? "", "base64");
  expect([pixels.readUInt32BE(16), pixels.readUInt32BE(20)]).toEqual([40, 20]);
  await expect(messages(page, "user").last().getByRole("img", { name: /^Attached image / })).toHaveJSProperty("naturalWidth", 40);
});
