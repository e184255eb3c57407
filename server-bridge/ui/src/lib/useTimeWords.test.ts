import { expect, test } from "vitest";
import { relativeWords } from "./useTimeWords";

test("ages are rounded down, a clock ahead is now, and both are in the language", () => {
  const minute = 60_000;
  const ages = [-5, 30_000, 5 * minute, 180 * minute, 1_500 * minute, 4_500 * minute];
  const words = (language: string) => ages.map((age) => relativeWords(0, age, language));
  expect(words("en")).toEqual(["now", "now", "5 min. ago", "3 hr. ago", "yesterday", "3 days ago"]);
  expect(words("zh")).toEqual(["现在", "现在", "5分钟前", "3小时前", "昨天", "3天前"]);
});
