import { expect, test } from "vitest";
import type { Choice, Settings } from "../types";
import { runner } from "./fixtures";
import { options, where } from "./where";

const laptop: Choice = { name: "laptop", kind: "runner", online: true, available: true, note: null };
const docker: Choice = { name: "__docker__", kind: "docker", online: true, available: true, note: null };
const settings = (active: string | null, ...choices: Choice[]): Settings => ({ active_runner: active, choices });

test("automatic is the only runner, and says so when it is offline", () => {
  expect(where(settings(null, laptop), [runner("laptop")])).toEqual({ state: "online", hint: "laptop" });
  expect(where(settings(null, laptop), [runner("laptop", false)])).toEqual({ state: "offline", hint: "laptop is offline." });
});

test("automatic with several runners asks to choose", () => {
  expect(where(settings(null), [runner("a"), runner("b")]).state).toBe("unclear");
});

test("automatic without a runner is Docker only where it is offered", () => {
  expect(where(settings(null, docker), []).hint).toBe("Docker container");
  expect(where(settings(null, { ...docker, available: false }), []).state).toBe("unclear");
});

test("a named runner that is offline stays the choice", () => {
  const offline = settings("laptop", { ...laptop, online: false });
  expect(where(offline, [runner("laptop", false), runner("desk")])).toEqual({ state: "offline", hint: null });
});

test("this server is offered only if the server offers it", () => {
  expect(options(settings(null, laptop, docker)).map((option) => option.label)).toEqual(["Automatic", "laptop", "Docker container"]);
});

test("an active runner that was revoked is still shown", () => {
  expect(options(settings("gone", laptop)).at(-1)).toMatchObject({ value: "gone", state: "offline" });
});
