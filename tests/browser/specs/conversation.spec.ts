import { expect, isAfterTool, messages, Speech, run, say, test } from "../house/test";

test("a command runs on the active machine, and the page shows where and how it ended", async ({ page, laptop }) => {
  const said = await run(page, "!pwd; exit 3");
  expect(said).toContain(laptop.workspace);
  expect(said).toContain("laptop");
  expect(said).toContain("exit 3");
});

test("an answer is shown while it streams, and is complete after a reload in the middle", async ({ page, model }) => {
  const speech = new Speech();
  model.answersWith({ stream: speech });
  await say(page, "Tell me a story");
  speech.say("Once upon ");
  await expect(messages(page, "assistant").last()).toContainText("Once upon");
  await page.reload();
  await expect(messages(page, "assistant").last()).toContainText("Once upon");
  speech.say("a time.");
  speech.end();
  await expect(messages(page, "assistant").last()).toContainText("Once upon a time.");
  await expect(page.locator("[data-testid=message][data-status=running]")).toHaveCount(0);
});

test("a tool waits for approval, and runs once it is given", async ({ page, model }) => {
  model.answers((asked) =>
    isAfterTool(asked) ? { say: "It is there." } : { call: [["Shell", { command: "touch made-by-model; pwd" }]] },
  );
  await say(page, "Make the file");
  await page.getByRole("group", { name: /Allow Shell/ }).getByRole("button", { name: "Allow", exact: true }).click();
  await expect(messages(page, "assistant").last()).toContainText("It is there.");
  expect(await run(page, "!ls")).toContain("made-by-model");
});
