/** The text of files: recognizing it, and preserving its line endings and byte order mark through an edit. Pure. */

/** The text of a piece of a file, cut at characters; null if it is not UTF-8 text. */
export function decodePiece(bytes: Uint8Array, isStart: boolean, isEnd: boolean): string | null {
  if (bytes.includes(0)) return null;
  const from = isStart ? 0 : leadingRest(bytes);
  const to = isEnd ? bytes.length : bytes.length - trailingBegin(bytes);
  try {
    // A byte order mark is part of the file, and is written back with it.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes.subarray(from, Math.max(from, to)));
  } catch {
    return null;
  }
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Bytes at the beginning that belong to the previous character. */
function leadingRest(bytes: Uint8Array): number {
  let count = 0;
  while (count < 3 && isContinuation(bytes[count])) count += 1;
  return count;
}

/** Bytes at the end that begin a character continued in the next piece. */
function trailingBegin(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (isContinuation(byte)) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

export type LineEnds = "lf" | "crlf" | "mixed";

export function lineEnds(text: string): LineEnds {
  const all = text.split("\n").length - 1;
  const returned = text.split("\r\n").length - 1;
  const lone = text.replaceAll("\r\n", "").includes("\r");
  if (lone) return "mixed";
  if (returned === 0) return "lf";
  return returned === all ? "crlf" : "mixed";
}

/** The text with "\n" as the only line ending, as text fields use it. */
export function forEditing(text: string): string {
  return text.replace(/\r\n?/g, "\n");
}

/** Restores the file's line endings; mixed ones become LF, of which the page warns. */
export function forFile(text: string, ends: LineEnds): string {
  return ends === "crlf" ? text.replaceAll("\n", "\r\n") : text;
}

const IMAGES: Record<string, string> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  avif: "image/avif",
  bmp: "image/bmp",
  ico: "image/x-icon",
  svg: "image/svg+xml",
};

/** The type of a picture by its name; null for anything else. */
export function imageType(name: string): string | null {
  return IMAGES[extensionOf(name)] ?? null;
}

export function extensionOf(name: string): string {
  const dot = name.lastIndexOf(".");
  return dot === -1 ? "" : name.slice(dot + 1).toLowerCase();
}
