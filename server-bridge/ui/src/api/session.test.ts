import { afterEach, expect, test, vi } from "vitest";
import { createApi } from "../api";
import { onConfirmation } from "./confirmation";
import { authorization, keepSession, sessionToken, socketProtocols } from "./session";

/** Gives these responses in order, and records the requests. */
function server(...answers: [status: number, body: unknown][]) {
  const asked: Request[] = [];
  vi.stubGlobal("fetch", async (request: Request) => {
    asked.push(request);
    const [status, body] = answers[Math.min(asked.length, answers.length) - 1] ?? [500, null];
    return new Response(body === null ? null : JSON.stringify(body), { status });
  });
  return asked;
}

const wanted: [number, unknown] = [403, { error: { kind: "password_required", message: "Once more." } }];
const made: [number, unknown] = [201, { name: "laptop", token: "sbr_x", command: "c" }];

afterEach(() => {
  keepSession(null);
  vi.unstubAllGlobals();
});

test("a session begins with its token and ends with it", async () => {
  const asked = server([200, { token: "sbs_x", user: {} }], [200, []], [204, null]);
  const api = createApi(() => {});
  expect([authorization(), socketProtocols()]).toEqual([{}, ["sandbridge"]]);
  await api.login("ada", "x");
  expect([sessionToken(), socketProtocols()]).toEqual(["sbs_x", ["sandbridge", "bearer.sbs_x"]]);
  await api.runners();
  await api.logout();
  expect(asked.map((request) => request.headers.get("authorization"))).toEqual([null, "Bearer sbs_x", "Bearer sbs_x"]);
  expect(sessionToken()).toBeNull();
});

test("when the server requires the password again, the user is asked for it and the request is repeated", async () => {
  const asked = server(wanted, made);
  const asker = vi.fn(async () => true);
  const stop = onConfirmation(asker);
  expect((await createApi(() => {}).addRunner("laptop", true)).token).toBe("sbr_x");
  expect(asker).toHaveBeenCalledOnce();
  expect(await Promise.all(asked.map((request) => request.text()))).toEqual(Array(2).fill('{"name":"laptop","enrol":true}'));
  stop();
});

test("without the password nothing is created, and the error says why", async () => {
  const asked = server(wanted);
  const stop = onConfirmation(async () => false);
  await expect(createApi(() => {}).addRunner("laptop", false)).rejects.toMatchObject({ kind: "password_required" });
  expect(asked).toHaveLength(1);
  stop();
  await expect(createApi(() => {}).addRunner("laptop", false)).rejects.toMatchObject({ kind: "password_required" });
});

test("any other refusal does not ask for the password", async () => {
  server([403, { error: { kind: "forbidden", message: "No." } }]);
  const asker = vi.fn(async () => true);
  const stop = onConfirmation(asker);
  await expect(createApi(() => {}).addRunner("laptop", false)).rejects.toMatchObject({ kind: "forbidden" });
  expect(asker).not.toHaveBeenCalled();
  stop();
});

test("simultaneous requests ask for the password once", async () => {
  server(wanted, wanted, made, made);
  const asker = vi.fn(() => new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 20)));
  const stop = onConfirmation(asker);
  const api = createApi(() => {});
  await Promise.all([api.addRunner("a", false), api.addRunner("b", false)]);
  expect(asker).toHaveBeenCalledOnce();
  stop();
});
