import { expect, test } from "vitest";

/** The only style sheets with global rules: plain elements, and Markdown from a model. */
const GLOBAL = ["/src/chat/markdown/markdown.css", "/src/kit/base.css"];

const sheets = import.meta.glob<string>("/src/**/*.css", { query: "?raw", import: "default", eager: true });
const sources = Object.entries(import.meta.glob<string>(["/src/**/*.{ts,tsx}", "!/src/**/*.{test,d}.{ts,tsx}"], { query: "?raw", import: "default", eager: true }));

/** The class names that a sheet defines for itself. */
function defined(sheet: string): Set<string> {
  const rules = (sheets[sheet] ?? "").replace(/\/\*[\s\S]*?\*\//g, "").replace(/:global\([^)]*\)/g, "");
  const selectors = Array.from(rules.matchAll(/([^{};]+)\{/g), (found) => found[1] ?? "").filter((selector) => !selector.trim().startsWith("@"));
  return new Set(selectors.flatMap((selector) => Array.from(selector.matchAll(/\.([A-Za-z_][\w-]*)/g), (found) => found[1] ?? "")));
}

/** The classes that sources use from each module, by name; `chosen` is true if a class is chosen at run time. */
function uses(): Map<string, { names: Map<string, string>; chosen: boolean }> {
  const all = new Map<string, { names: Map<string, string>; chosen: boolean }>();
  for (const [source, text] of sources) {
    for (const [, name = "", path = ""] of text.matchAll(/import (\w+) from "([^"]+\.module\.css)"/g)) {
      const { pathname: sheet } = new URL(path, `file://${source}`);
      const used = all.get(sheet) ?? { names: new Map<string, string>(), chosen: false };
      all.set(sheet, used);
      for (const [, taken = ""] of text.matchAll(new RegExp(`\\b${name}\\.(?!module\\b)(\\w+)`, "g"))) used.names.set(taken, source);
      if (new RegExp(`\\b${name}\\[`).test(text)) used.chosen = true;
    }
  }
  return all;
}

test("every style sheet but two is a module, whose rules apply only where it is imported", () => {
  expect(Object.keys(sheets).filter((name) => !name.endsWith(".module.css")).toSorted()).toEqual(GLOBAL);
});

test("a module defines exactly the classes that are used from it", () => {
  const used = uses();
  for (const sheet of Object.keys(sheets).filter((name) => name.endsWith(".module.css"))) {
    const { names, chosen } = used.get(sheet) ?? { names: new Map<string, string>(), chosen: false };
    const own = defined(sheet);
    const missing = Array.from(names).filter(([name]) => !own.has(name));
    expect(missing, `taken from ${sheet}, which has no such rule`).toEqual([]);
    const idle = chosen ? [] : Array.from(own).filter((name) => !names.has(name));
    expect(idle, `in ${sheet}, taken by nobody`).toEqual([]);
  }
});

test("a class name written as a string is defined in a global style sheet or by the highlighter", () => {
  const known = new Set([...GLOBAL.flatMap((name) => Array.from(defined(name))), "only-wide"]);
  for (const [source, text] of sources.filter(([name]) => name.endsWith(".tsx"))) {
    const words = Array.from(text.matchAll(/className="([^"]*)"/g), (found) => (found[1] ?? "").split(/\s+/)).flat();
    expect(words.filter((word) => !known.has(word)), source).toEqual([]);
  }
});
