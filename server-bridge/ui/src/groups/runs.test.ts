import { expect, test } from "vitest";
import { merged } from "./runs";
import type { Run } from "./types";

const run = (id: number, state: string) => ({ id, state }) as Run;

test("a run that begins meanwhile pushes no other run out of the list, and each shows its current state", () => {
  const before = [run(3, "running"), run(2, "done"), run(1, "done")];
  const list = merged([run(4, "running"), run(3, "done")], before);
  expect(list.map(({ id, state }) => `${id} ${state}`)).toEqual(["4 running", "3 done", "2 done", "1 done"]);
});
