// @vitest-environment jsdom
import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { afterEach, beforeAll, expect, test } from "vitest";
import * as en from "../../i18n/en";
import { onPanelWanted, onTarget } from "../../panels/open";
import { pictureOf } from "./diagrams";
import { takeCitation } from "../../lib/citation";
import { Markdown } from "./Markdown";

beforeAll(async () => {
  await i18next.use(initReactI18next).init({ lng: "en", resources: { en }, defaultNS: "frame" });
  await Promise.all([import("remark-math"), import("./Formula")]);
});
afterEach(cleanup);

/** Renders a text, and returns its element once it has this many formulas. */
async function shown(text: string, formulas: number): Promise<HTMLElement> {
  const { container } = render(<Markdown text={text} />);
  await waitFor(() => expect(container.querySelectorAll(".katex")).toHaveLength(formulas), { timeout: 10_000 });
  return container;
}

test("inline and display formulas are typeset, with TeX's brackets too", async () => {
  const text = "Since $a_1 + b_1$ and \\(c^2\\):\n\n$$\n\\int_0^1 x\\,dx\n$$\n\n\\[ e^{i\\pi} = -1 \\]\n";
  const page = await shown(text, 4);
  expect(page.querySelectorAll(".formula .katex-display")).toHaveLength(2);
  expect(page.querySelectorAll("math annotation")[0]?.textContent).toBe("a_1 + b_1");
});

test("prices are not formulas", async () => {
  const text = "It costs $5 or $10, and $a$ is one; from $5-$10";
  const page = await shown(text, 1);
  expect(page.textContent).toContain("costs $5 or $10, and ");
  expect(page.textContent).toContain("from $5-$10");
});

test("text that is not a formula stays unchanged", async () => {
  const unclosed = "$$\nx^2\n\nand on";
  expect((await shown(unclosed, 0)).textContent).toContain("$$\nx^2");
  cleanup();
  expect((await shown("a $\\frac{1$ b", 0)).textContent).toContain("$\\frac{1$");
  cleanup();
  const huge = `$${"x+".repeat(6_000)}y$`;
  expect((await shown(huge, 0)).textContent).toBe(huge);
  cleanup();
  const bomb = "$\\def\\a{xxxxxxxxxx}\\def\\b{\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a}\\def\\c{\\b\\b\\b\\b\\b\\b\\b\\b\\b\\b}\\c\\c\\c\\c\\c\\c\\c\\c\\c\\c$";
  expect((await shown(bomb, 0)).textContent).toBe(bomb);
});

test("a formula contains no links, loads nothing and cannot choose its styles", async () => {
  const page = await shown("$\\href{javascript:alert(1)}{x} \\includegraphics{https://a.example/x.png} \\htmlStyle{position:fixed}{y} \\rule{9999em}{9999em}$", 1);
  expect(page.querySelectorAll("a, img, [src]")).toHaveLength(0);
  expect(Array.from(page.querySelectorAll("[style]"), (part) => part.getAttribute("style")).join()).not.toContain("fixed");
  expect(page.querySelector<HTMLElement>(".rule")?.style.borderTopWidth).toBe("40em");
});

test("a relative link opens its file in the panel", () => {
  const wanted: unknown[] = [];
  const stop = onPanelWanted((panel) => wanted.push(panel));
  render(<Markdown text="See [main](./src/main.rs#L3), [out](../secret) and [web](https://a.example)" />);
  fireEvent.click(screen.getByRole("button", { name: "main" }));
  onTarget("files", (target) => wanted.push(target))();
  expect(wanted).toEqual(["files", { path: "src/main.rs" }]);
  expect(screen.queryByRole("button", { name: "out" })).toBeNull();
  expect(screen.getAllByRole("link")).toHaveLength(1);
  stop();
});

test("only a drawing with a size becomes an image", () => {
  expect(pictureOf('<svg xmlns="http://www.w3.org/2000/svg" width="100%" viewBox="0 0 20 10"></svg>')).toMatchObject({ width: 20, height: 10 });
  for (const text of ["", "<p>x</p>", '<svg xmlns="http://www.w3.org/2000/svg"></svg>', '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 0 0"></svg>']) expect(pictureOf(text)).toBeNull();
});

test("a citation of a document opens the document, and the text around it stays unchanged", () => {
  const { container } = render(<Markdown text={"Two **years** [doc:12#3@0-240], see `[doc:1#1]` and [x](https://a.example)."} />);
  expect(container.textContent).toBe("Two years [doc:12#3@0-240], see [doc:1#1] and x.");
  fireEvent.click(screen.getByRole("button", { name: "[doc:12#3@0-240]" }));
  expect(window.location.hash).toBe("#/settings/knowledge");
  expect(takeCitation()).toEqual({ document: 12, page: 3, start: 0, end: 240 });
});

/** The headings of a text, as the page shows them: their tags and texts. */
function headings(text: string, topLevel?: number): string[] {
  const { container } = render(<Markdown text={text} topLevel={topLevel} />);
  const found = Array.from(container.querySelectorAll("h1, h2, h3, h4, h5, h6"), (heading) => `${heading.tagName} ${heading.textContent}`);
  cleanup();
  return found;
}

test("headings of an answer are below the page's, without gaps, and look as the model meant", () => {
  expect(headings("# One\n\ntext\n\n## Two\n\n#### Three\n\n# Four\n")).toEqual(["H2 One", "H3 Two", "H4 Three", "H2 Four"]);
  expect(headings("### One\n\ntext\n\n### Two\n\n# Three\n\n### Four")).toEqual(["H2 One", "H2 Two", "H2 Three", "H3 Four"]);
  expect(headings("Title\n=====\n\ntext\n\nPart\n----\n\n### Deep")).toEqual(["H2 Title", "H3 Part", "H4 Deep"]);
  expect(headings("# a\n## b\n### c\n#### d\n##### e\n###### f")).toEqual(["H2 a", "H3 b", "H4 c", "H5 d", "H6 e", "H6 f"]);
  expect(headings("## One", 4)).toEqual(["H4 One"]);
  render(<Markdown text={"### One"} />);
  expect(screen.getByRole("heading", { level: 2 }).dataset.level).toBe("3");
});

test("a line that only looks like a heading changes no levels, and one in a list or a quotation stays inside its section", () => {
  expect(headings("# One\n\n```sh\n# a comment\n## another\n```\n\n## Two")).toEqual(["H2 One", "H3 Two"]);
  expect(headings("# One\n\n> # Quoted\n\n## Two\n\n- ### Listed\n\ntext\n\n### Three")).toEqual(["H2 One", "H3 Quoted", "H3 Two", "H4 Listed", "H4 Three"]);
  expect(headings("# One\n\n- item\n---\n\n#hash\n\n    # code\n\n## Two")).toEqual(["H2 One", "H3 Two"]);
});
