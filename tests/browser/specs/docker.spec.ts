/** Docker as a place: its state is that of the engine and its image, and the first command pulls the image. */
import { test as base } from "@playwright/test";
import { Registry, docker } from "../house/registry";
import { type Person, Server } from "../house/server";
import { expect, expectAccessible, messages, picture, say, signedIn } from "../house/test";

const test = base.extend<{ registry: Registry; server: Server; alice: Person }>({
  registry: async ({}, use) => {
    const registry = await Registry.start(process.env.DOCKER_IMAGE ?? "");
    await use(registry);
    await docker("image", "rm", "--force", registry.image).catch(() => "");
    await registry.close();
  },
  server: async ({ registry }, use) => {
    const server = new Server(["--docker", "on", "--docker-image", registry.image]);
    await server.start();
    await use(server);
    await server.stop();
    const ours = ["--filter", `label=sandbridge.home=${server.home}`];
    const ids = async (...list: string[]) => (await docker(...list, "--quiet", ...ours)).split("\n").filter((id) => id !== "");
    for (const id of await ids("ps", "--all")) await docker("rm", "--force", "--volumes", id);
    for (const id of await ids("volume", "ls")) await docker("volume", "rm", "--force", id);
    for (const id of await ids("network", "ls")) await docker("network", "rm", id);
    await server.close();
  },
  alice: async ({ server }, use) => {
    const alice = await server.person("alice");
    await use(alice);
    await alice.close();
  },
});

test("Docker without its image is not online: the first command pulls it, with progress, and then it is", async ({ browser, alice, registry }) => {
  const { page, errors } = await signedIn(browser, alice);
  const place = page.getByTestId("where");
  const button = place.getByRole("button", { name: /^Active runner/ });
  const absent = `image ${registry.image} is not on this machine yet; the first command pulls it`;
  await expect(place).toHaveAttribute("data-state", "pulling");
  await expect(button).toHaveAccessibleName(/the Docker container\s*Image not pulled yet/);
  await expect(place.getByText(absent)).toBeVisible();
  await expectAccessible(page);
  await picture(page, "docker-absent");

  // It can be chosen, and its state is shown wherever it is listed.
  await button.click();
  const choice = page.getByRole("menuitemradio", { name: "the Docker container, Image not pulled yet" });
  await expect(choice).toContainText(absent);
  await choice.click();
  await expect(page.getByTestId("banner")).toContainText(absent);
  await page.goto("/#/settings/runners");
  const card = page.getByTestId("container");
  await expect(card).toContainText("not created yet");
  await expect(card).toContainText(absent);
  await expect(card.getByRole("img", { name: "Online" })).toHaveCount(0);
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  // A pull that fails is reported with the reason, and Docker is still not online.
  registry.isUp = false;
  await say(page, "!echo too-early");
  const answer = messages(page, "exec").last();
  await expect(answer).toHaveAttribute("data-status", "failed");
  await expect(answer).toContainText("cannot be pulled");
  await expect(answer).toContainText("the registry is being cleaned");
  await expect(place).toHaveAttribute("data-state", "pulling");
  await expect(place.getByText(absent)).toBeVisible();

  registry.isUp = true;
  await say(page, "!echo from-the-container");
  await expect(messages(page, "exec")).toHaveCount(2);
  await expect(place.getByText(/is being pulled \([1-9]\d* of \d+ MiB\); commands wait for it/)).toBeVisible();
  await expect(answer).toHaveAttribute("data-status", "running");
  await expect(place).toHaveAttribute("data-state", "pulling");
  registry.finish();
  await expect(answer).toHaveAttribute("data-status", "exited");
  await expect(answer.getByText("from-the-container", { exact: true })).toBeVisible();
  await expect(answer).toContainText("on the Docker container");
  // Without a reload.
  await expect(place).toHaveAttribute("data-state", "online");
  await expect(button).toHaveAccessibleName(/the Docker container\s*Online/);
  await page.goto("/#/settings/runners");
  await expect(card).toContainText("running");
  await expect(card.getByRole("img", { name: "Online" })).toBeVisible();
  expect(errors).toEqual([]);
  await page.context().close();
});

test("an engine that does not answer is not offered", async ({ browser }) => {
  const server = new Server(["--docker", "on", "--docker-socket", "/nonexistent/docker.sock"]);
  await server.start();
  const alice = await server.person("alice");
  const { page, errors } = await signedIn(browser, alice);
  await expect(page.getByTestId("where")).toHaveAttribute("data-state", "unclear");
  await page.getByRole("button", { name: /^Active runner/ }).click();
  await expect(page.getByRole("menuitemradio")).toHaveText([/Automatic/]);
  await page.keyboard.press("Escape");
  // A choice of Docker stays, and says what is missing.
  await alice.run(["use", "__docker__"]);
  await page.reload();
  await expect(page.getByTestId("where")).toHaveAttribute("data-state", "offline");
  await page.getByRole("button", { name: /^Active runner/ }).click();
  await expect(page.getByRole("menuitemradio", { name: "the Docker container, Offline" })).toContainText("see `docker info`");
  expect(errors).toEqual([]);
  await page.context().close();
  await alice.close();
  await server.close();
});
