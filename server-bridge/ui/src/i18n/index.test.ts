import { expect, test } from "vitest";
import * as en from "./en";
import { preferredLanguage } from "./index";
import * as zh from "./zh";

test("the stored language has precedence, then the browser's, then English", () => {
  expect(preferredLanguage("zh", ["en-GB"])).toBe("zh");
  expect(preferredLanguage(null, ["fr-FR", "zh-Hans-CN"])).toBe("zh");
  expect(preferredLanguage("xx", [])).toBe("en");
});

/** Names in `{{…}}` of every entry, by its path. */
function placeholders(words: object, path = ""): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(words).flatMap(([key, value]: [string, unknown]) =>
      typeof value === "string"
        ? [[`${path}${key}`, [...value.matchAll(/{{\s*(\w+)/g)].map((found) => found[1] ?? "").toSorted()]]
        : Object.entries(placeholders(value as object, `${path}${key}.`)),
    ),
  );
}

test("a translation has the same placeholders as the English text", () => {
  expect(placeholders(zh)).toEqual(placeholders(en));
});
