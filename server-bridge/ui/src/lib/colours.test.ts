import { expect, test } from "vitest";
import { runsOf, styleAfter, withoutColours } from "./colours";

const E = "\u001b[";

test("basic colours and faces stay in effect until they are reset", () => {
  const text = `a${E}1;31mb${E}22mc${E}39md${E}4me${E}mf`;
  expect(runsOf(text, "")).toEqual([
    { text: "a", style: "" },
    { text: "b", style: "red bold" },
    { text: "c", style: "red" },
    { text: "d", style: "" },
    { text: "e", style: "underline" },
    { text: "f", style: "" },
  ]);
  expect(withoutColours(text)).toBe("abcdef");
});

test("a style continues from the preceding text", () => {
  expect(styleAfter(`${E}32mok`, "bold")).toBe("green bold");
  expect(runsOf("more", "green bold")).toEqual([{ text: "more", style: "green bold" }]);
});

test("a shade becomes the nearest hue; greys and backgrounds have none", () => {
  const styleOf = (codes: string) => styleAfter(`${E}${codes}m`, "");
  expect([styleOf("38;5;196"), styleOf("38;5;46"), styleOf("38;2;30;60;250"), styleOf("38;5;208")]).toEqual(["red", "green", "blue", "red"]);
  expect([styleOf("38;5;244"), styleOf("37"), styleOf("41"), styleOf("48;2;255;0;0"), styleOf("48;5;196")]).toEqual(["", "", "", "", ""]);
  expect([styleOf("90"), styleOf("91"), styleOf("48;5;196;1;33")]).toEqual(["grey", "red", "yellow bold"]);
});
