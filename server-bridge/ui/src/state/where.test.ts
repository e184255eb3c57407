import { expect, test } from "vitest";
import type { Choice, Settings } from "../types";
import { runner } from "./fixtures";
import { options, where } from "./where";

const laptop: Choice = { name: "laptop", kind: "runner", online: true, available: true, note: null };
const docker: Choice = { name: "__docker__", kind: "docker", online: true, available: true, note: null };
const settings = (active: string | null, ...choices: Choice[]): Settings => ({ active_runner: active, choices });

test("automatic means the only runner, even if it is offline", () => {
  expect(where(settings(null, laptop), [runner("laptop")], null)).toMatchObject({ place: "laptop", by: "server", state: "online" });
  const offline = where(settings(null, laptop), [runner("laptop", false)], null);
  expect(offline).toMatchObject({ place: "laptop", state: "offline", hint: "offline" });
});

test("automatic with several runners asks to choose", () => {
  const several = where(settings(null), [runner("a"), runner("b")], null);
  expect(several).toMatchObject({ place: null, state: "unclear", hint: "several" });
});

test("automatic without a runner means Docker, if the server offers it", () => {
  expect(where(settings(null, docker), [], null).place).toBe("__docker__");
  expect(where(settings(null, { ...docker, online: false, available: false }), [], null).hint).toBe("noRunner");
});

test("Docker without its image can be chosen, and says that commands wait for it", () => {
  const note = "image tools:1 is being pulled (3 of 12 MiB); commands wait for it";
  const pulling: Choice = { ...docker, available: false, note };
  const waiting = { place: "__docker__", state: "pulling", hint: "pulling", note };
  expect(where(settings(null, pulling), [], null)).toMatchObject(waiting);
  expect(where(settings("__docker__", pulling), [runner("desk")], null)).toMatchObject(waiting);
  expect(options(settings(null, pulling), [], null).at(-1)).toMatchObject({ kind: "docker", state: "pulling", note });
});

test("a chosen runner stays the choice while it is offline", () => {
  const offline = settings("laptop", { ...laptop, online: false });
  expect(where(offline, [runner("laptop", false), runner("desk")], null)).toMatchObject({ place: "laptop", by: "choice", state: "offline" });
});

test("a runner that lacks a required layer is refused, although it is connected", () => {
  const weak = { ...runner("laptop"), refused: ["landlock"] };
  expect(where(settings("laptop", laptop), [weak], null)).toMatchObject({ state: "refused", hint: "refused" });
  expect(options(settings("laptop", laptop), [weak], "laptop")[1]?.state).toBe("refused");
});

test("a bound chat uses its place, whatever the active runner is", () => {
  const bound = where(settings("laptop", laptop, docker), [runner("laptop")], "__docker__");
  expect(bound).toMatchObject({ place: "__docker__", by: "chat", state: "online" });
});

test("the server is listed as a place only if it offers that", () => {
  const none: Choice = { name: "none", kind: "none", online: false, available: false, note: "not allowed" };
  expect(options(settings(null, laptop, docker, none), [], null).map((option) => option.kind)).toEqual(["automatic", "runner", "docker"]);
  expect(options(settings(null, laptop, none), [], "none").at(-1)).toMatchObject({ kind: "server", state: "offline", note: "not allowed" });
});

test("an active runner that was revoked is still shown", () => {
  expect(options(settings("gone", laptop), [], "gone").at(-1)).toMatchObject({ value: "gone", kind: "gone", state: "offline" });
});
