import { expect, test } from "vitest";
import { relativeWords } from "./useTimeWords";

test("times are rounded towards now, and are in the chosen language", () => {
  const minute = 60_000;
  const times = [-4_500, -1_500, -180, -5, -0.5, 0.5, 5, 180, 1_500, 4_500].map((minutes) => minutes * minute);
  const words = (language: string) => times.map((at) => relativeWords(at, 0, language));
  const english = ["3 days ago", "yesterday", "3 hr. ago", "5 min. ago", "now"];
  expect(words("en")).toEqual([...english, "now", "in 5 min.", "in 3 hr.", "tomorrow", "in 3 days"]);
  expect(words("zh")).toEqual(["3天前", "昨天", "3小时前", "5分钟前", "现在", "现在", "5分钟后", "3小时后", "明天", "3天后"]);
});
