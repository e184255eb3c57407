import { expect, test } from "vitest";
import { randomId } from "./randomId";

test("an id is 32 hexadecimal digits, and each another", () => {
  expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
  expect(randomId()).not.toBe(randomId());
});
