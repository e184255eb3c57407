/**
 * Paths of a workspace. A name is a sequence of bytes; one that is not UTF-8 is sent as base64 and shown as well as possible.
 * Pure.
 */

export interface Path {
  /** The displayed path, without a slash at either end; empty for the workspace itself. */
  text: string;
  /** The exact bytes in URL-safe base64, if the text does not represent them. */
  base64: string | null;
}

export interface Entry {
  name: string;
  name_base64?: string;
  kind: "file" | "directory" | "symlink" | "other";
  /** The size in bytes. */
  size: number;
}

export const WORKSPACE: Path = { text: "", base64: null };

/** A path that the user typed. */
export function typedPath(text: string): Path {
  const isAbsolute = text.startsWith("/");
  const parts = text.split("/").filter((part) => part !== "" && part !== ".");
  return { text: (isAbsolute ? "/" : "") + parts.join("/"), base64: null };
}

export function child(directory: Path, entry: Pick<Entry, "name" | "name_base64">): Path {
  const text = directory.text === "" ? entry.name : `${directory.text}/${entry.name}`;
  if (directory.base64 === null && entry.name_base64 === undefined) return { text, base64: null };
  const name = entry.name_base64 === undefined ? utf8(entry.name) : fromBase64(entry.name_base64);
  const before = directory.text === "" ? [] : [...bytesOf(directory), SLASH];
  return { text, base64: toBase64(Uint8Array.from([...before, ...name])) };
}

/** The directory that a path is in; null for the workspace itself. */
export function parent(path: Path): Path | null {
  if (path.text === "" || path.text === "/") return null;
  const text = path.text.slice(0, Math.max(0, path.text.lastIndexOf("/")));
  if (path.base64 === null) return { text, base64: null };
  const bytes = bytesOf(path);
  const cut = bytes.slice(0, Math.max(0, bytes.lastIndexOf(SLASH)));
  const isUtf8 = new TextDecoder().decode(cut) === text && text.indexOf("\ufffd") === -1;
  return { text, base64: isUtf8 ? null : toBase64(cut) };
}

export function nameOf(path: Path): string {
  return path.text.slice(path.text.lastIndexOf("/") + 1);
}

/** A key that identifies a path. */
export function keyOf(path: Path): string {
  return path.base64 === null ? path.text : `\0${path.base64}`;
}

/** The path and its place as query parameters. */
export function queryOf(path: Path, place: string): string {
  const query = new URLSearchParams({ on: place });
  if (path.base64 === null) query.set("path", path.text === "" ? "." : path.text);
  else query.set("path_base64", path.base64);
  return query.toString();
}

/** The problem with a name for a file or directory; null if there is none. */
export function entryNameProblem(name: string): "empty" | "slash" | "dots" | null {
  if (name.trim() === "") return "empty";
  if (name.includes("/") || name.includes("\0")) return "slash";
  return name === "." || name === ".." ? "dots" : null;
}

const SLASH = 0x2f;

function bytesOf(path: Path): Uint8Array {
  return path.base64 === null ? utf8(path.text) : fromBase64(path.base64);
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function fromBase64(text: string): Uint8Array {
  const plain = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

function toBase64(bytes: Uint8Array): string {
  const plain = btoa(String.fromCharCode(...bytes));
  return plain.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}
