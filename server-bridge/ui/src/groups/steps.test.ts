import { expect, test } from "vitest";
import { dollarsOf, microsOf, minutesOf, moved, pathsOf, secondsOf, strangers, tokensOf } from "./steps";

test("outputs are separated by commas", () => {
  expect(pathsOf(" report/, data.csv ,, ")).toEqual(["report/", "data.csv"]);
});

test("who is not in the group is named once", () => {
  expect(strangers(["writer", "Coder", "writer", "", "critic"], ["coder"])).toEqual(["writer", "critic"]);
});

test("a step is moved up and down, and not out of the list", () => {
  expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
  expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
  expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
  expect(moved(["a", "b"], 5, 0)).toEqual(["a", "b"]);
});

test("limits are entered in minutes, and an empty field means the default", () => {
  expect([minutesOf(90), minutesOf(null), minutesOf(600)]).toEqual(["1.5", "", "10"]);
  expect([secondsOf("1.5"), secondsOf(" "), secondsOf("ten")]).toEqual([90, undefined, undefined]);
});

test("a budget is entered in tokens and dollars, and an empty field sets no limit", () => {
  expect([tokensOf("200,000"), tokensOf(" 5 "), tokensOf(""), tokensOf("many")]).toEqual([200_000, 5, undefined, undefined]);
  expect([dollarsOf(2_500_000), dollarsOf(null)]).toEqual(["2.50", ""]);
  expect([microsOf("$2.5"), microsOf(" "), microsOf("much")]).toEqual([2_500_000, undefined, undefined]);
});
