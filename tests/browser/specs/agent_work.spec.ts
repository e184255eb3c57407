/** A model's work in a chat, and the user's reactions. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { composer, expect, expectAccessible, isAfterTool, messages, picture, say, signedIn, Speech, test } from "../house/test";

const last = (page: Parameters<typeof messages>[0]) => messages(page, "assistant").last();

test("keys answer an approval that has the focus, and the question names the machine", async ({ page, model }) => {
  model.answers((asked) => (isAfterTool(asked) ? { say: "Understood." } : { call: [["Shell", { command: "echo ran" }]] }));
  await say(page, "first");
  await expect(page.getByRole("group", { name: "Allow Shell on laptop?" })).toBeVisible();
  await page.getByRole("button", { name: "Show the question" }).click();
  await expect(page.getByRole("group", { name: "Allow Shell on laptop?" })).toBeFocused();
  await expectAccessible(page);
  // Letters typed into a message do not answer, and letters that answer are not typed into a field.
  await composer(page).focus();
  await page.keyboard.type("a dA");
  await expect(composer(page)).toHaveValue("a dA");
  await expect(page.getByTestId("tool").last()).toContainText("waiting for you");
  await composer(page).fill("");
  await page.getByRole("button", { name: "Show the question" }).click();
  await page.keyboard.press("d");
  await expect(last(page)).toContainText("Understood.");
  await expect(composer(page)).toHaveValue("");
  await expect(page.getByTestId("tool").last()).toContainText("denied");
  await say(page, "second");
  await page.getByRole("button", { name: "Show the question" }).click();
  await page.keyboard.press("A");
  await expect(page.getByTestId("tool").last()).toContainText(/laptop.*\d+ ms/);
  // From now on this tool is not asked about.
  await say(page, "third");
  await expect(page.getByTestId("tool")).toHaveCount(3);
  await expect(page.getByTestId("turn-status")).toHaveCount(0);
  await expect(page.getByTestId("tool").last()).toContainText(/\d+ ms/);
});

test("a change is shown as a diff before and after it is allowed, and is undone with its message", async ({ page, model, laptop }) => {
  const file = join(laptop.workspace, "add.sh");
  writeFileSync(file, "one\ntwo\nthree\n");
  model.answers((asked) => {
    const results = asked.messages.filter((message) => message.role === "tool").length;
    if (results === 0) return { call: [["Read", { path: "add.sh" }]] };
    if (results === 1) return { call: [["FileReplace", { path: "add.sh", old_string: "two", new_string: "2" }]] };
    return { say: "Done." };
  });
  await say(page, "Change it");
  const asked = page.getByRole("group", { name: "Allow editing a file on laptop?" });
  // The changed line has its line number, and the lines around it are shown.
  await expect(asked.getByRole("row")).toHaveText([/^11.*one$/, /^2.*two$/, /^2.*2$/, /^33.*three$/]);
  await expect(asked.getByRole("row", { name: "removed two" })).toBeVisible();
  await expect(asked.getByRole("row", { name: "added 2" })).toBeVisible();
  await asked.getByRole("button", { name: "Allow", exact: true }).click();
  await expect(last(page)).toContainText("Done.");
  expect(readFileSync(file, "utf8")).toBe("one\n2\nthree\n");
  const card = page.getByTestId("tool").last();
  await expect(card.getByLabel("1 added, 1 removed")).toBeVisible();
  await card.click();
  await expect(page.getByRole("row", { name: "2 removed two" })).toBeVisible();
  await picture(page, "change");
  const said = messages(page, "user").first();
  await said.hover();
  await said.getByRole("button", { name: "Message actions" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Take back this message…" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take back" }).click();
  await expect(messages(page, "notice").last()).toBeVisible();
  expect(readFileSync(file, "utf8")).toBe("one\ntwo\nthree\n");
  await expect(composer(page)).toHaveValue("Change it");
  await expect(page.getByRole("article", { name: "You (taken back)" })).toBeVisible();
});

test("Markdown is rendered while it streams, without HTML or requests to other hosts", async ({ page, model }) => {
  const foreign: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(new URL(page.url()).origin)) foreign.push(request.url());
  });
  const speech = new Speech();
  model.answersWith({ stream: speech });
  await say(page, "Show me");
  speech.say("# Title\n\nSome **bold** text");
  // A first heading of the answer is below the page's own.
  await expect(last(page).getByRole("heading", { name: "Title", level: 2 })).toBeVisible();
  await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
  speech.say(" and a [link](https://example.org), a [trap](javascript:alert(1)), <img src=x onerror=alert(1)>\n\n");
  speech.say("![spy](https://example.org/spy.png)\n\n```js\nconst answer = 42;\n");
  await expect(last(page).locator("pre")).toContainText("const answer");
  speech.say("```\n\n### Table\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- [x] done\n");
  speech.end();
  await expect(last(page).getByRole("table")).toBeVisible();
  await expect(last(page).getByRole("heading", { name: "Table", level: 3 })).toBeVisible();
  await expect(last(page).getByRole("link", { name: "link" })).toHaveAttribute("rel", "noopener noreferrer");
  await expect(last(page).getByRole("link", { name: "trap" })).toHaveCount(0);
  await expect(last(page).getByRole("link", { name: "Image: spy" })).toBeVisible();
  await expect(last(page).locator("img")).toHaveCount(0);
  await expect(last(page).locator(".hljs-keyword")).toHaveText("const");
  await expect(last(page).getByRole("button", { name: "Copy code" })).toBeVisible();
  await expectAccessible(page);
  await picture(page, "markdown");
  expect(foreign).toEqual([]);
});

test("formulas and diagrams are drawn, files open next to the chat, and invalid ones stay as text", async ({ page, model, laptop }) => {
  writeFileSync(join(laptop.workspace, "notes.txt"), "opened from a link\n");
  const diagram = "```mermaid\ngraph TD\n  A[Begin] --> B[End]\n```";
  model.answersWith({ say: `Since $e^{i\\pi} = -1$:\n\n${diagram}\n\nsee [the notes](notes.txt)\n\n\`\`\`mermaid\nno such diagram\n\`\`\`\n\n$$\nunclosed` });
  await say(page, "Draw");
  await expect(last(page).locator("math")).toHaveCount(1);
  const drawn = last(page).getByRole("img", { name: "Diagram" });
  await expect(drawn.first()).toBeVisible();
  await expect.poll(() => drawn.first().evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(20);
  await expect(last(page)).toContainText("no such diagram");
  await expect(last(page)).toContainText("$$ unclosed");
  // The drawing is an image, in which code cannot run.
  await expect(last(page).locator("svg, iframe, a[href^=javascript]").filter({ hasText: "Begin" })).toHaveCount(0);
  await expectAccessible(page);
  await picture(page, "drawn");
  await last(page).getByRole("button", { name: "the notes" }).click();
  await expect(page.getByRole("complementary", { name: "Files" })).toContainText("opened from a link");
});

test("a hostile diagram cannot run code or reach another host", async ({ browser, alice, laptop, model }) => {
  void laptop;
  const { page, errors } = await signedIn(browser, alice);
  const foreign: string[] = [];
  page.on("requestfinished", (request) => {
    if (!request.url().startsWith(alice.server.url) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  // A request that a policy refused never left the browser.
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText !== "csp") foreign.push(`${request.url()}: ${request.failure()?.errorText}`);
  });
  page.on("dialog", (dialog) => foreign.push(dialog.message()));
  const lines = [
    '%%{init: {"securityLevel": "loose", "htmlLabels": true, "themeCSS": "* { background: url(https://a.example/css) }"}}%%',
    "graph TD",
    'A["<img src=https://a.example/x.png onerror=alert(1)><script>alert(2)</script>"] --> B[End]',
    'click A "javascript:alert(3)"',
    "click B call alert(4)",
  ];
  model.answersWith({ say: `\`\`\`mermaid\n${lines.join("\n")}\n\`\`\`\n\n\`\`\`mermaid\ngraph TD\n  C --> D\n\`\`\`` });
  await say(page, "Draw");
  await expect(last(page).getByRole("img", { name: "Diagram" }).last()).toBeVisible();
  expect(foreign).toEqual([]);
  // The frame's own policy refused the attempts there.
  expect(errors.filter((error) => !/(inline event handler|image|script|style)/i.test(error))).toEqual([]);
  await page.context().close();
});

test("a question from the model is answered with one of its options, or with another text", async ({ page, model }) => {
  model.answers((asked) =>
    isAfterTool(asked)
      ? { say: `So it is: ${String(asked.messages.at(-1)?.content)}` }
      : { call: [["AskUser", { question: "Which colour?", options: ["red", "blue"] }]] },
  );
  await say(page, "Ask me");
  const form = page.getByRole("form", { name: "Answer the question" });
  await expect(form).toContainText("Which colour?");
  await form.getByRole("button", { name: "blue" }).click();
  await expect(last(page)).toContainText("So it is");
  await expect(last(page)).toContainText("blue");
  await say(page, "Ask me again");
  await form.getByLabel("Your answer").fill("rather green");
  await form.getByRole("button", { name: "Answer", exact: true }).click();
  await expect(last(page)).toContainText("rather green");
});

test("the to-do list stays above the composer until everything in it is done", async ({ page, model }) => {
  const todos = (status: string) => ({ call: [["todo_write", { items: [{ content: "Paint it", status }] }]] as [string, object][] });
  model.answersWith(todos("in_progress"), { say: "Working on it." }, todos("completed"), { say: "All done." });
  await say(page, "Plan");
  await expect(last(page)).toContainText("Working on it.");
  const panel = page.getByRole("region", { name: "To do" });
  await expect(panel).toContainText("0 of 1 done");
  await panel.getByRole("button").click();
  await expect(panel.getByText("Paint it")).toBeVisible();
  await say(page, "Go on");
  await expect(last(page)).toContainText("All done.");
  await expect(panel).toHaveCount(0);
});

test("a failed answer is retried in its place, and a message is edited in its place", async ({ page, model }) => {
  model.answersWith({ refuse: 401, body: JSON.stringify({ error: { message: "no such key" } }) }, { say: "Now it works." });
  await say(page, "Hello");
  await page.getByRole("button", { name: "Try again" }).click();
  await expect(last(page)).toContainText("Now it works.");
  await expect(page.getByRole("article", { name: "You", exact: true })).toHaveCount(1);
  model.answersWith({ say: "Good evening." });
  const said = page.getByRole("article", { name: "You", exact: true });
  await said.hover();
  await said.getByRole("button", { name: "Message actions" }).click();
  await page.getByRole("menuitem", { name: "Edit and send again" }).click();
  await expect(composer(page)).toHaveValue("Hello");
  await composer(page).fill("Good evening");
  await page.keyboard.press("Enter");
  await expect(last(page)).toContainText("Good evening.");
  await expect(page.getByRole("article", { name: "You", exact: true })).toHaveText(/Good evening/);
});
