import { createServer } from "node:net";
import { expect, expectAccessible, picture, test } from "../house/test";
import { Server } from "../house/server";

/** The time within which the list shows that a lease has expired, or that its node has stopped. */
const NOTICED_MS = 90_000;

/** The options of a node at a free port. The database and the key of all nodes are in the environment. */
async function node(): Promise<{ url: string; options: string[] }> {
  const probe = createServer();
  await new Promise<void>((done) => probe.listen(0, "127.0.0.1", done));
  const address = probe.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  await new Promise((done) => probe.close(done));
  const place = `127.0.0.1:${address.port}`;
  return { url: `http://${place}`, options: ["--peer-listen", place, "--node-url", `http://${place}`] };
}

test.use({ serverOptions: async ({}, use) => use((await node()).options) });

/** Alice, the first user, administers the nodes. */
test("nodes are listed with their states, and a dead one is removed from the list", async ({ page }) => {
  const other = await node();
  const second = new Server(other.options);
  await second.start();
  await page.goto("/#/settings/nodes");
  await expect(page.getByRole("heading", { name: "Nodes", exact: true })).toBeVisible();
  const nodes = page.getByTestId("node");
  await expect(nodes).toHaveCount(2);
  const home = nodes.filter({ hasNotText: other.url });
  const added = nodes.filter({ hasText: other.url });
  const fact = (card: typeof home, name: string) => card.locator("dt", { hasText: name }).locator("xpath=following-sibling::dd");
  await expect(fact(home, "Users it serves")).toHaveText("1");
  await expect(fact(added, "Users it serves")).toHaveText("0");
  await expect(fact(added, "Version")).toHaveText(/^\d+\.\d+/);
  await expect(fact(added, "Lease until")).toHaveText(/:\d\d/);
  for (const card of [home, added]) await expect(card.getByText("up", { exact: true })).toBeVisible();
  await expect(nodes.getByRole("button", { name: /Remove/ })).toHaveCount(0);
  await expectAccessible(page);
  await picture(page, "nodes");

  await added.getByRole("button", { name: `Drain ${other.url}` }).click();
  await expect(added.getByText("draining", { exact: true })).toBeVisible({ timeout: NOTICED_MS });
  await added.getByRole("button", { name: `Let ${other.url} take on users again` }).click();
  await expect(added.getByText("up", { exact: true })).toBeVisible({ timeout: NOTICED_MS });

  await second.stop("SIGKILL");
  await expect(added.getByText("late", { exact: true })).toBeVisible({ timeout: NOTICED_MS });
  await expect(added).toContainText("has not renewed its lease");
  await expectAccessible(page);
  // A node that shuts down is listed as gone.
  await second.start();
  await expect(added.getByText("up", { exact: true })).toBeVisible({ timeout: NOTICED_MS });
  await second.stop();
  await expect(added.getByText("gone", { exact: true })).toBeVisible({ timeout: NOTICED_MS });
  await added.getByRole("button", { name: `Remove ${other.url} from the list` }).click();
  await added.getByRole("button", { name: "Remove", exact: true }).click();
  await expect(nodes).toHaveCount(1);
  await page.reload();
  await expect(nodes).toHaveCount(1);
  await second.close();
});
