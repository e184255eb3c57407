import { expect, test } from "vitest";
import { randomId } from "./randomId";

test("an id has 32 hexadecimal digits, and no two are equal", () => {
  expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
  expect(randomId()).not.toBe(randomId());
});
