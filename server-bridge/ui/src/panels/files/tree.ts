/** The tree of a workspace: the open directories, their known contents, and the resulting rows. Pure. */
import { DIRECTORY_ROWS_COUNT } from "../../limits";
import { type Entry, type Path, WORKSPACE, child, keyOf } from "./path";

/** The known state of a directory. */
export interface Directory {
  /** Null until the directory is loaded. */
  entries: Entry[] | null;
  error: string | null;
  /** The maximum number of entries that are shown as rows. */
  shown: number;
}

export interface Tree {
  directories: ReadonlyMap<string, Directory>;
  open: ReadonlySet<string>;
}

export type Row =
  | { kind: "entry"; key: string; path: Path; entry: Entry; level: number; position: number; count: number; isOpen: boolean | null }
  /** A line about a directory, shown among the entries. */
  | { kind: "loading" | "empty" | "error" | "more"; key: string; directory: Path; level: number; text: string };

export type TreeAction =
  | { type: "opened"; path: Path }
  | { type: "closed"; path: Path }
  | { type: "listed"; path: Path; entries: Entry[] }
  | { type: "failed"; path: Path; error: string }
  | { type: "more"; path: Path };

export const EMPTY_TREE: Tree = { directories: new Map(), open: new Set([keyOf(WORKSPACE)]) };

export function reduceTree(tree: Tree, action: TreeAction): Tree {
  const key = keyOf(action.path);
  const known = tree.directories.get(key) ?? { entries: null, error: null, shown: DIRECTORY_ROWS_COUNT };
  const put = (directory: Directory): Tree => ({ ...tree, directories: new Map(tree.directories).set(key, directory) });
  switch (action.type) {
    case "opened":
      return { ...tree, open: new Set(tree.open).add(key) };
    case "closed": {
      const open = new Set(tree.open);
      open.delete(key);
      return { ...tree, open };
    }
    case "listed":
      return put({ ...known, entries: sorted(action.entries), error: null });
    case "failed":
      // The earlier entries may be outdated, but are better than nothing while a runner is offline.
      return put({ ...known, error: action.error });
    case "more":
      return put({ ...known, shown: known.shown + DIRECTORY_ROWS_COUNT });
  }
}

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

/** Sorts directories first, then by name in natural order. */
function sorted(entries: Entry[]): Entry[] {
  const rank = (entry: Entry) => (entry.kind === "directory" ? 0 : 1);
  return entries.toSorted((a, b) => rank(a) - rank(b) || byName.compare(a.name, b.name));
}

/** The rows on screen, from the top. */
export function rowsOf(tree: Tree, showHidden: boolean): Row[] {
  const rows: Row[] = [];
  addRows(rows, tree, WORKSPACE, 1, showHidden);
  return rows;
}

function addRows(rows: Row[], tree: Tree, path: Path, level: number, showHidden: boolean): void {
  const key = keyOf(path);
  const about = (kind: "loading" | "empty" | "error" | "more", text = "") =>
    rows.push({ kind, key: `${key}\0${kind}`, directory: path, level, text });
  const known = tree.directories.get(key);
  if (known?.error) about("error", known.error);
  if (known === undefined || known.entries === null) {
    if (!known?.error) about("loading");
    return;
  }
  const visible = showHidden ? known.entries : known.entries.filter((entry) => !entry.name.startsWith("."));
  if (visible.length === 0 && !known.error) about("empty");
  visible.slice(0, known.shown).forEach((entry, index) => {
    const at = child(path, entry);
    const rowKey = keyOf(at);
    const isOpen = entry.kind === "directory" ? tree.open.has(rowKey) : null;
    rows.push({ kind: "entry", key: rowKey, path: at, entry, level, position: index + 1, count: visible.length, isOpen });
    if (isOpen) addRows(rows, tree, at, level + 1, showHidden);
  });
  if (visible.length > known.shown) about("more", String(visible.length - known.shown));
}

/** The index of the entry that a key press selects. */
export function moved(rows: Row[], from: number, key: string): number {
  const isEntry = (at: number) => rows[at]?.kind === "entry";
  const scan = (start: number, step: number) => {
    for (let at = start; at >= 0 && at < rows.length; at += step) if (isEntry(at)) return at;
    return from;
  };
  switch (key) {
    case "ArrowDown":
      return scan(from + 1, 1);
    case "ArrowUp":
      return scan(from - 1, -1);
    case "Home":
      return scan(0, 1);
    case "End":
      return scan(rows.length - 1, -1);
    default:
      return from;
  }
}

/** The parent entry of a row; the row itself at the top. */
export function parentRow(rows: Row[], from: number): number {
  const level = rows[from]?.level ?? 1;
  for (let at = from - 1; at >= 0; at -= 1) {
    const row = rows[at];
    if (row?.kind === "entry" && row.level < level) return at;
  }
  return from;
}

/** The next entry whose name begins with the text, starting after a row and wrapping around. */
export function typedAhead(rows: Row[], from: number, text: string): number {
  for (let step = 1; step <= rows.length; step += 1) {
    const at = (from + step) % rows.length;
    const row = rows[at];
    if (row?.kind === "entry" && row.entry.name.toLowerCase().startsWith(text.toLowerCase())) return at;
  }
  return from;
}
