import { expect, test } from "vitest";
import { dayOf, isSameDay } from "./days";

const now = new Date(2026, 10, 22, 9, 30).getTime();
const at = (year: number, month: number, day: number, hour = 12) => new Date(year, month, day, hour).getTime();

test("days are calendar days, not periods of 24 hours", () => {
  expect(dayOf(at(2026, 10, 22, 0), now).kind).toBe("today");
  expect(dayOf(at(2026, 10, 21, 23), now).kind).toBe("yesterday");
  expect(dayOf(at(2026, 10, 16), now).kind).toBe("week");
  expect(dayOf(at(2026, 10, 15), now)).toEqual({ kind: "month", at: at(2026, 10, 1, 0) });
});

test("a clock that is ahead counts as today", () => {
  expect(dayOf(now + 3_600_000 * 30, now).kind).toBe("today");
});

test("months of different years are different", () => {
  expect(isSameDay(dayOf(at(2025, 10, 3), now), dayOf(at(2024, 10, 3), now))).toBe(false);
  expect(isSameDay(dayOf(at(2025, 10, 3), now), dayOf(at(2025, 10, 30), now))).toBe(true);
});
