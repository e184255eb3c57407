/** The requests of the file panel. Content is sent as bytes; a write can depend on the file's current content. */
import { ApiError, ROOT, unreachable } from "../../api";
import type { Schemas } from "../../api/client";
import { authorization } from "../../api/session";
import { request } from "../requests";
import { type Entry, type Path, queryOf } from "./path";

export type Stat = Schemas["StatView"];

export const files = {
  list: async (place: string, path: Path): Promise<Entry[]> => {
    const response = await request("GET", `/files/list?${queryOf(path, place)}`);
    return ((await response.json()) as { entries: Entry[] }).entries;
  },
  stat: async (place: string, path: Path): Promise<Stat> =>
    (await (await request("GET", `/files/stat?${queryOf(path, place)}`)).json()) as Stat,
  /** Reads at most `length` bytes from `offset` on. */
  read: async (place: string, path: Path, offset: number, length: number, signal?: AbortSignal) => {
    const headers = { range: `bytes=${offset}-${offset + length - 1}` };
    const init: RequestInit = { headers, ...(signal && { signal }) };
    try {
      return await bytesOf(await request("GET", `/files?${queryOf(path, place)}`, init));
    } catch (error) {
      // A range is not satisfiable in an empty file.
      if (error instanceof ApiError && error.status === 416) return new Uint8Array(0);
      throw error;
    }
  },
  mkdir: async (place: string, path: Path): Promise<void> => {
    await request("POST", `/files/mkdir?${queryOf(path, place)}`);
  },
  rename: async (place: string, from: Path, to: Path): Promise<void> => {
    const init = { body: JSON.stringify({ from: from.text, to: to.text }), headers: { "content-type": "application/json" } };
    await request("POST", `/files/rename?${new URLSearchParams({ on: place })}`, init);
  },
  remove: async (place: string, path: Path, recursive: boolean): Promise<void> => {
    await request("DELETE", `/files?${queryOf(path, place)}&recursive=${recursive}`);
  },
  /** Writes a file; with `hash` only if that is the SHA-256 of its content. */
  write: async (place: string, path: Path, bytes: Uint8Array<ArrayBuffer>, hash: string | null): Promise<void> => {
    const condition = hash === null ? "" : `&if_match=${hash}`;
    await request("PUT", `/files?${queryOf(path, place)}${condition}`, { body: bytes });
  },
};

async function bytesOf(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch {
    throw unreachable();
  }
}

/** The address to download a file from, or a directory as an archive. */
export function downloadUrl(place: string, path: Path, kind: Entry["kind"]): string {
  return `${ROOT}/files${kind === "directory" ? "/tree" : ""}?${queryOf(path, place)}`;
}

export interface Upload {
  done: Promise<void>;
  cancel: () => void;
}

/** Sends a file and reports its progress, which `fetch` does not do. */
export function upload(place: string, path: Path, content: Blob, onProgress: (sentBytes: number) => void): Upload {
  const sender = new XMLHttpRequest();
  const done = new Promise<void>((resolve, reject) => {
    sender.upload.onprogress = (event) => onProgress(event.loaded);
    sender.onload = () => (sender.status < 300 ? resolve() : reject(refusal(sender)));
    sender.onerror = () => reject(unreachable());
    sender.onabort = () => reject(new ApiError(0, "cancelled", ""));
    sender.open("PUT", `${ROOT}/files?${queryOf(path, place)}&parents=true`);
    sender.setRequestHeader("content-type", "application/octet-stream");
    for (const [name, value] of Object.entries(authorization())) sender.setRequestHeader(name, value);
    sender.send(content);
  });
  return { done, cancel: () => sender.abort() };
}

function refusal(sender: XMLHttpRequest): ApiError {
  let error: { kind?: string; message?: string } | undefined;
  try {
    error = (JSON.parse(sender.responseText) as { error?: typeof error }).error;
  } catch {
    // The response is not from the server itself, so it contains no message.
  }
  const message = error?.message ?? `The server answered with status ${sender.status}. Try again.`;
  return new ApiError(sender.status, error?.kind ?? "internal", message);
}
