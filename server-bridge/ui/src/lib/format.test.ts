import { expect, test } from "vitest";
import { duration } from "./format";

test("durations read naturally", () => {
  expect([0, 420, 1_234, 59_949, 59_980, 185_000, 7_440_000].map(duration)).toEqual([
    "0 ms",
    "420 ms",
    "1.2 s",
    "59.9 s",
    "1 min 0 s",
    "3 min 5 s",
    "2 h 4 min",
  ]);
});
