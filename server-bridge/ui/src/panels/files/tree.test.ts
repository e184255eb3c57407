import { expect, test } from "vitest";
import { DIRECTORY_ROWS_COUNT } from "../../limits";
import { type Entry, WORKSPACE } from "./path";
import { EMPTY_TREE, type Row, type Tree, moved, parentRow, reduceTree, rowsOf, typedAhead } from "./tree";

const file = (name: string): Entry => ({ name, kind: "file", size: 1 });
const directory = (name: string): Entry => ({ name, kind: "directory", size: 0 });
const at = (text: string) => ({ text, base64: null });

function listed(...entries: Entry[]): Tree {
  return reduceTree(EMPTY_TREE, { type: "listed", path: WORKSPACE, entries });
}

function texts(rows: Row[]): string[] {
  return rows.map((row) => (row.kind === "entry" ? `${row.level} ${row.path.text}` : `${row.level} <${row.kind}>`));
}

test("directories are listed first, names in natural order, hidden entries on demand", () => {
  const tree = listed(file("b10"), file("B2"), directory("z"), file(".env"));
  expect(texts(rowsOf(tree, false))).toEqual(["1 z", "1 B2", "1 b10"]);
  expect(texts(rowsOf(tree, true))).toContain("1 .env");
});

test("an open directory shows its contents, that it is loading, or the error", () => {
  let tree = reduceTree(listed(directory("src"), file("a")), { type: "opened", path: at("src") });
  expect(texts(rowsOf(tree, false))).toEqual(["1 src", "2 <loading>", "1 a"]);
  tree = reduceTree(tree, { type: "listed", path: at("src"), entries: [] });
  expect(texts(rowsOf(tree, false))).toEqual(["1 src", "2 <empty>", "1 a"]);
  tree = reduceTree(tree, { type: "listed", path: at("src"), entries: [file("m")] });
  tree = reduceTree(tree, { type: "failed", path: at("src"), error: "laptop is offline" });
  expect(texts(rowsOf(tree, false))).toEqual(["1 src", "2 <error>", "2 src/m", "1 a"]);
  tree = reduceTree(tree, { type: "closed", path: at("src") });
  expect(texts(rowsOf(tree, false))).toEqual(["1 src", "1 a"]);
});

test("a directory with very many entries shows some, and more on request", () => {
  let tree = listed(...Array.from({ length: DIRECTORY_ROWS_COUNT + 5 }, (_, index) => file(`f${index}`)));
  expect(rowsOf(tree, false)).toHaveLength(DIRECTORY_ROWS_COUNT + 1);
  expect(rowsOf(tree, false).at(-1)).toMatchObject({ kind: "more", text: "5" });
  tree = reduceTree(tree, { type: "more", path: WORKSPACE });
  expect(rowsOf(tree, false)).toHaveLength(DIRECTORY_ROWS_COUNT + 5);
});

test("keys move among entries only, to the parent, and by typed letters, which wrap around", () => {
  let tree = reduceTree(listed(directory("src"), file("alpha"), file("beta")), { type: "opened", path: at("src") });
  tree = reduceTree(tree, { type: "listed", path: at("src"), entries: [file("m")] });
  tree = reduceTree(tree, { type: "failed", path: at("src"), error: "x" });
  const rows = rowsOf(tree, false);
  expect(texts(rows)).toEqual(["1 src", "2 <error>", "2 src/m", "1 alpha", "1 beta"]);
  expect(moved(rows, 0, "ArrowDown")).toBe(2);
  expect(moved(rows, 2, "ArrowUp")).toBe(0);
  expect(moved(rows, 0, "ArrowUp")).toBe(0);
  expect(moved(rows, 0, "End")).toBe(4);
  expect(moved(rows, 4, "ArrowDown")).toBe(4);
  expect(parentRow(rows, 2)).toBe(0);
  expect(parentRow(rows, 3)).toBe(3);
  expect(typedAhead(rows, 4, "A")).toBe(3);
  expect(typedAhead(rows, 3, "s")).toBe(0);
  expect(typedAhead(rows, 3, "q")).toBe(3);
});
