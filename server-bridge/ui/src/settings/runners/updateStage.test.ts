import { expect, test } from "vitest";
import { runner } from "../../state/fixtures";
import type { Runner } from "../../types";
import { type Asked, stageOf } from "./updateStage";

const old: Runner = { ...runner("laptop"), version: "0.0.9", update: { version: "0.1.0", can: true }, connected_at: 7 };
const asked: Asked = { version: "0.1.0", running: 2, connectedAt: 7 };

test("an older runner is `older` until an update is requested; another one is `current`", () => {
  expect(stageOf(null, runner("laptop"))).toBe("current");
  expect(stageOf(null, old)).toBe("older");
  expect(stageOf(null, { ...old, online: false })).toBe("older");
});

test("an update passes through its stages, and is done once no newer version is offered", () => {
  expect(stageOf({ ...asked, version: null }, old)).toBe("downloading");
  expect(stageOf(asked, old)).toBe("waiting");
  expect(stageOf(asked, { ...old, online: false, connected_at: null })).toBe("restarting");
  expect(stageOf(asked, { ...old, connected_at: 8, update: null })).toBe("done");
});

test("a runner that returns unchanged has failed if it reports an error; otherwise the update can be requested again", () => {
  expect(stageOf(asked, { ...old, connected_at: 8, update_error: "no space" })).toBe("failed");
  expect(stageOf(asked, { ...old, connected_at: 8 })).toBe("older");
  expect(stageOf(asked, { ...old, update_error: "of an earlier one" })).toBe("waiting");
});
