import { expect, test } from "vitest";
import { chat } from "../state/fixtures";
import { merged, titled } from "./useChatSearch";

test("every word must be in the title, in any order and case", () => {
  const chats = [chat("Fix the build"), chat("Build docs")];
  expect(titled(chats, "build FIX").map(({ id }) => id)).toEqual(["Fix the build"]);
  expect(titled(chats, " ")).toHaveLength(2);
});

test("a chat found twice is listed once, by its title", () => {
  const found = { ...chat("a"), found: { message_id: 1, excerpt: "…" } };
  expect(merged([chat("a")], [found, chat("b")])).toEqual([chat("a"), chat("b")]);
});
