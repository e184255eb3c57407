/** The content of a file, or the part of it that the page shows. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { ApiError } from "../../api";
import { FILE_EDIT_BYTES, FILE_IMAGE_BYTES, FILE_PIECE_BYTES } from "../../limits";
import { type Path, nameOf } from "./path";
import { type Stat, files } from "./requests";
import { sha256Hex } from "./sha256";
import { decodePiece, imageType } from "./text";

export type Content =
  /** A complete text, which can be edited; `hash` guards the write. */
  | { kind: "text"; text: string; hash: string }
  /** A piece of a text that is too large to edit. */
  | { kind: "piece"; text: string; offset: number; length: number }
  | { kind: "image"; address: string }
  | { kind: "binary" }
  | { kind: "other" };

export interface Loaded {
  stat: Stat;
  content: Content;
}

export interface ContentHandle {
  loaded: Loaded | null;
  error: unknown;
  busy: boolean;
  /** Loads the content again; of a large file, the piece at an offset. */
  load: (offset?: number) => Promise<void>;
}

/** Loads a file when it is opened. The answer of an older request stays until that of a newer one arrives. */
export function useContent(place: string, path: Path): ContentHandle {
  const queries = useQueryClient();
  const [asked, setAsked] = useState(0);
  // The path may be a new object for the same file, so effects depend on its parts.
  const { text, base64 } = path;
  const key = ["file", place, text, base64];
  const { data, error, isFetching } = useQuery({
    queryKey: [...key, asked],
    queryFn: ({ signal }) => read(place, { text, base64 }, asked, signal),
    placeholderData: keepPreviousData,
  });
  const load = async (offset = 0) => {
    if (offset === asked) await queries.refetchQueries({ queryKey: [...key, offset] });
    else setAsked(offset);
  };
  return { loaded: data ?? null, error, busy: isFetching, load };
}

async function read(place: string, path: Path, offset: number, signal: AbortSignal): Promise<Loaded> {
  const stat = await files.stat(place, path);
  if (stat.kind !== "file") return { stat, content: { kind: "other" } };
  const type = imageType(nameOf(path));
  if (type !== null && stat.size <= FILE_IMAGE_BYTES && stat.size > 0) {
    const bytes = await files.read(place, path, 0, stat.size, signal);
    return { stat, content: { kind: "image", address: await dataUrl(bytes, type) } };
  }
  if (offset === 0 && stat.size <= FILE_EDIT_BYTES) return { stat, content: await whole(place, path, signal) };
  const bytes = await files.read(place, path, offset, FILE_PIECE_BYTES, signal);
  const text = decodePiece(bytes, offset === 0, offset + bytes.length >= stat.size);
  if (text === null) return { stat, content: { kind: "binary" } };
  return { stat, content: { kind: "piece", text, offset, length: bytes.length } };
}

async function whole(place: string, path: Path, signal: AbortSignal): Promise<Content> {
  // One byte more than may be edited, to detect a file that has grown since.
  const bytes = await files.read(place, path, 0, FILE_EDIT_BYTES + 1, signal);
  const text = decodePiece(bytes, true, true);
  if (text === null) return { kind: "binary" };
  if (bytes.length > FILE_EDIT_BYTES) return { kind: "piece", text, offset: 0, length: bytes.length };
  return { kind: "text", text, hash: await sha256Hex(bytes) };
}

/** A file's current content, for comparison; null if it was deleted or is no longer text. */
export async function readNow(place: string, path: Path): Promise<{ text: string; hash: string } | null> {
  try {
    const content = await whole(place, path, new AbortController().signal);
    return content.kind === "text" ? content : null;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** A picture as a data URL, since URLs of the server's files are downloads. Scripts in an SVG do not run there. */
function dataUrl(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(new Blob([bytes], { type }));
  });
}
