import { expect, test } from "vitest";
import { ApiError } from "../../api";
import { DRAFTS_CHARS, UPLOADS_PARALLEL_COUNT } from "../../limits";
import { bytesText } from "../size";
import { Drafts } from "./drafts";
import { WORKSPACE, child, entryNameProblem, keyOf, nameOf, parent, queryOf, typedPath } from "./path";
import type { upload } from "./requests";
import { sha256Hex, sha256HexPlain } from "./sha256";
import { decodePiece, forEditing, forFile, imageType, lineEnds } from "./text";
import { Uploads } from "./uploads";

test("paths are joined, split and sent as query parameters", () => {
  const path = child(child(WORKSPACE, { name: "src" }), { name: "a b&c.rs" });
  expect(path).toEqual({ text: "src/a b&c.rs", base64: null });
  expect(nameOf(path)).toBe("a b&c.rs");
  expect(parent(path)).toEqual({ text: "src", base64: null });
  expect(parent({ text: "src", base64: null })).toEqual(WORKSPACE);
  expect(parent(WORKSPACE)).toBeNull();
  expect(queryOf(path, "laptop")).toBe("on=laptop&path=src%2Fa+b%26c.rs");
  expect(queryOf(WORKSPACE, "laptop")).toBe("on=laptop&path=.");
  expect(typedPath(" /a//./b/").text).toBe(" /a/b");
  expect(typedPath("/a//./b/").text).toBe("/a/b");
  expect(typedPath("../x").text).toBe("../x");
});

test("a name that is not UTF-8 keeps its bytes, and so do paths below it", () => {
  const odd = child({ text: "d", base64: null }, { name: "x\ufffd", name_base64: "eP8" });
  expect(odd).toEqual({ text: "d/x\ufffd", base64: "ZC94_w" });
  expect(keyOf(odd)).not.toBe(keyOf(child({ text: "d", base64: null }, { name: "x\ufffd" })));
  const inner = child(odd, { name: "y" });
  expect(inner.base64).toBe("ZC94_y95");
  expect(parent(inner)).toEqual(odd);
  expect(parent(odd)).toEqual({ text: "d", base64: null });
});

test("invalid names for new entries are rejected", () => {
  expect(["a", "", "  ", "a/b", ".", "..", ".env"].map(entryNameProblem)).toEqual([null, "empty", "empty", "slash", "dots", "dots", null]);
});

test("sizes read naturally", () => {
  expect([0, 1_023, 1_024, 10_239, 1_048_575, 1_048_576, 5_000_000_000].map(bytesText)).toEqual([
    "0 B",
    "1023 B",
    "1.0 KiB",
    "10 KiB",
    "1.0 MiB",
    "1.0 MiB",
    "4.7 GiB",
  ]);
});

test("a hash is the same with and without the browser's help", async () => {
  for (const length of [0, 1, 3, 55, 56, 63, 64, 65, 119, 120, 1_000]) {
    const bytes = Uint8Array.from({ length }, (_, index) => (index * 7) % 256);
    expect(sha256HexPlain(bytes)).toBe(await sha256Hex(bytes));
  }
  expect(sha256HexPlain(new TextEncoder().encode("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});

test("a piece of text is cut at characters; a piece that is not text is recognized", () => {
  const bytes = new TextEncoder().encode("äö🦀ü");
  for (let from = 0; from <= bytes.length; from += 1) {
    for (let to = from; to <= bytes.length; to += 1) {
      const text = decodePiece(bytes.slice(from, to), from === 0, to === bytes.length);
      expect(text === null ? null : "äö🦀ü".includes(text)).toBe(true);
    }
  }
  expect(decodePiece(bytes.slice(0, 3), true, true)).toBeNull();
  expect(decodePiece(Uint8Array.of(65, 0), true, true)).toBeNull();
  expect(decodePiece(Uint8Array.of(0xef, 0xbb, 0xbf, 65), true, true)).toBe("\ufeffA");
});

test("line endings survive an edit", () => {
  expect(["a\nb\n", "a\r\nb\r\n", "a\r\nb\n", "a\rb", "a"].map(lineEnds)).toEqual(["lf", "crlf", "mixed", "mixed", "lf"]);
  expect(forFile(forEditing("a\r\nb\r\n"), "crlf")).toBe("a\r\nb\r\n");
  expect(forFile(forEditing("a\r\nb\n"), "mixed")).toBe("a\nb\n");
  expect(imageType("a/B.PNG")).toBe("image/png");
  expect(imageType("png")).toBeNull();
});

test("unsaved text belongs to a user, a place and a file, and survives a reload", () => {
  const kept = new Map<string, string>();
  const storage = { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => void kept.set(key, value) };
  const path = { text: "a", base64: null };
  const draft = { text: "mine", hash: "00", ends: "lf" as const };
  new Drafts(storage).keep("alice", "laptop", path, draft);
  const later = new Drafts(storage);
  expect(later.of("alice", "laptop", path)).toEqual(draft);
  expect(later.of("alice", "desktop", path)).toBeNull();
  expect(later.of("bob", "laptop", path)).toBeNull();
  later.keep("alice", "laptop", path, { ...draft, text: "x".repeat(DRAFTS_CHARS) });
  expect(later.of("alice", "laptop", path)?.text).toHaveLength(DRAFTS_CHARS);
  later.keep("alice", "laptop", path, null);
  expect(new Drafts(storage).isEmpty).toBe(true);
});

test("uploads go a few at a time; a failed or cancelled one does not hold up others", async () => {
  const running: { path: string; resolve: () => void; reject: (error: unknown) => void; cancelled: boolean }[] = [];
  const send: typeof upload = (_, path) => {
    const entry = { path: path.text, resolve: () => {}, reject: (_: unknown) => {}, cancelled: false };
    const done = new Promise<void>((resolve, reject) => Object.assign(entry, { resolve, reject }));
    running.push(entry);
    return { done, cancel: () => entry.reject(new ApiError(0, "cancelled", "")) };
  };
  const uploads = new Uploads(send);
  const names = ["a", "b", "c", "d", "e"];
  uploads.add("laptop", names.map((name) => ({ path: { text: name, base64: null }, content: new Blob(["xyz"]) })));
  expect(running).toHaveLength(UPLOADS_PARALLEL_COUNT);
  const settle = () => new Promise((done) => setTimeout(done));
  running[0]?.reject(new ApiError(403, "denied", "not here"));
  uploads.cancel(2);
  uploads.cancel(5);
  await settle();
  expect(running.map(({ path }) => path)).toEqual(["a", "b", "c", "d"]);
  running[2]?.resolve();
  running[3]?.resolve();
  await settle();
  expect(uploads.snapshot().map(({ state, error }) => [state, error])).toEqual([
    ["failed", "not here"],
    ["cancelled", null],
    ["done", null],
    ["done", null],
    ["cancelled", null],
  ]);
  uploads.retry(1);
  expect(uploads.snapshot()[0]?.state).toBe("running");
  uploads.clear();
  expect(uploads.snapshot()).toHaveLength(1);
});
