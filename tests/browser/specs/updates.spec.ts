import { chmodSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { start, stop } from "../house/process";
import { type Person, temporary } from "../house/server";
import { expect, expectAccessible, picture, run, test } from "../house/test";

const OLD = "0.0.9";
const NEW = "0.1.0";

/** A machine with an older runner: the program that the server provides, with a different version patched in. */
class OlderMachine {
  private readonly directories = [temporary("program"), temporary("ws"), temporary("state")] as const;
  private child: ReturnType<typeof start> | null = null;

  /** Starts the machine. If `isOpen`, commands could write to the runner's program, so the runner refuses to replace it. */
  static async start(owner: Person, name: string, isOpen = false): Promise<OlderMachine> {
    const machine = new OlderMachine();
    const [program, workspace, state] = machine.directories;
    const file = join(program, "sandbridge-runner");
    const from = process.env.SANDBRIDGE_RUNNER_STATIC;
    if (from === undefined) throw new Error("SANDBRIDGE_RUNNER_STATIC names no program");
    writeFileSync(file, readFileSync(from).toString("latin1").replaceAll(NEW, OLD), "latin1");
    chmodSync(file, 0o755);
    const { token } = await owner.json(["runner", "add", name, "--permanent"]);
    const where = ["--workspace", workspace, "--state-dir", state, ...(isOpen ? ["--allow-write", program] : [])];
    const options = ["--server", owner.server.url, "--name", name, "--token-file", "-", ...where];
    machine.child = start(file, options, {}, ["pipe", "ignore", "ignore"]);
    machine.child.stdin?.end(`${token}\n`);
    await owner.online(name);
    return machine;
  }

  finishes(): void {
    writeFileSync(join(this.directories[1], "go"), "");
  }

  async close(): Promise<void> {
    if (this.child !== null) await stop(this.child);
    for (const directory of this.directories) rmSync(directory, { recursive: true, force: true });
  }
}

async function openRunners(page: Page, name: string) {
  await page.getByRole("button", { name: "Settings" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Runners" }).click();
  return page.locator(`[data-testid=runner][data-name=${name}]`);
}

async function use(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: /^Active runner/ }).click();
  await page.getByRole("menuitemradio", { name, exact: true }).click();
}

test("an older runner is updated with a button that shows the progress, and a command sent meanwhile waits for it", async ({ page, alice }) => {
  const tower = await OlderMachine.start(alice, "tower");
  try {
    await page.getByRole("button", { name: /^Active runner/ }).click();
    await expect(page.getByText(`Version ${OLD}; this server has ${NEW}`)).toBeVisible();
    await page.keyboard.press("Escape");
    await use(page, "tower");
    const waiting = alice.run(["exec", "--on", "tower", "--", "sh", "-c", "until [ -e go ]; do sleep 0.1; done; echo over"]);
    await expect.poll(async () => (await alice.json(["ps"])).length).toBe(1);
    const card = await openRunners(page, "tower");
    await expect(card.getByText(`Older than this server: the runner has ${OLD}, the server ${NEW}.`)).toBeVisible();
    await expectAccessible(page);
    await picture(page, "runner-older");
    await card.getByRole("button", { name: `Update tower to ${NEW}` }).click();
    await expect(card.getByText("The runner is waiting for 1 running command to end")).toBeVisible();
    await expectAccessible(page);
    tower.finishes();
    const sent = alice.run(["exec", "--on", "tower", "--", "echo", "fine"]);
    await expect(card.getByText(`It now has version ${NEW}.`)).toBeVisible();
    expect([await waiting, await sent]).toEqual(["over\n", "fine\n"]);
    await expect(card.getByText("Older than this server")).toHaveCount(0);
    await page.keyboard.press("Escape");
    expect(await run(page, "!echo still there")).toContain("still there");
  } finally {
    await tower.close();
  }
});

test("for a runner that cannot replace itself, the page shows the command to paste", async ({ page, alice }) => {
  const open = await OlderMachine.start(alice, "open", true);
  try {
    const card = await openRunners(page, "open");
    await expect(card.getByText("It cannot replace its own program.")).toBeVisible();
    await expect(card.getByRole("button", { name: "Update", exact: true })).toHaveCount(0);
    await card.getByRole("button", { name: "Show the command" }).click();
    await expect(card.getByTestId("runner-command")).toContainText("/install");
    await expectAccessible(page);
  } finally {
    await open.close();
  }
});
