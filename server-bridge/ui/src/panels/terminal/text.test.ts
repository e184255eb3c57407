import { expect, test } from "vitest";
import { TERMINAL_COPY_CHARS, TERMINAL_REPLAY_BYTES, TERMINAL_REPLAY_SEARCH_BYTES, TERMINAL_TITLE_CHARS } from "../../limits";
import { keptPreferences } from "./preferences";
import { Replay } from "./replay";
import { boundedTitle, copyRequest, openableLink, pasteable } from "./text";

test("a title is one short line without invisible characters", () => {
  expect(boundedTitle("vim\u202e \u0007 file\n\u009bx")).toBe("vim file x");
  expect(boundedTitle("x".repeat(100_000))).toHaveLength(TERMINAL_TITLE_CHARS);
  expect(Array.from(boundedTitle("🦀".repeat(200)))).toHaveLength(TERMINAL_TITLE_CHARS);
});

test("only a valid text is a request to copy", () => {
  expect(copyRequest(`c;${btoa("rm -rf")}`)).toBe("rm -rf");
  for (const data of ["c;?", "c;", "", "c", "c;***", `c;${btoa("\xff\xfe")}`, `c;${btoa("x".repeat(TERMINAL_COPY_CHARS + 1))}`]) {
    expect(copyRequest(data)).toBeNull();
  }
});

test("pasted text cannot end a bracketed paste", () => {
  expect(pasteable("a\u001b[201~rm\r\n\tb\u009b")).toBe("a[201~rm\r\n\tb");
});

test("links lead to the web and nowhere else", () => {
  expect(openableLink("https://example.org/a b")).toBe("https://example.org/a%20b");
  for (const text of ["javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "vscode://x", "example.org", ""]) {
    expect(openableLink(text)).toBeNull();
  }
});


test("stored preferences are kept within bounds, and invalid ones become the defaults", () => {
  expect(keptPreferences('{"font_px":500,"screen_reader":true}')).toEqual({ font_px: 28, screen_reader: true });
  for (const kept of [null, "null", "{", '{"font_px":"x","screen_reader":1}']) {
    expect(keptPreferences(kept)).toEqual({ font_px: 14, screen_reader: false });
  }
});

const bytes = (text: string) => new TextEncoder().encode(text);
const shown = (replay: Replay, text: string) => new TextDecoder().decode(replay.pass(bytes(text)));

test("a replay begins after a line end or at a sequence, and short output is shown in full", () => {
  expect(shown(new Replay(TERMINAL_REPLAY_BYTES), "ab")).toBe("ab");
  for (const [output, begun] of [["torn\nline", "line"], ["31mtorn \u001b[1mbold\n", "\u001b[1mbold\n"], ["torn\n", ""]] as const) {
    const replay = new Replay(TERMINAL_REPLAY_BYTES + 7);
    expect(replay.offset).toBe(7);
    expect(shown(replay, output)).toBe(begun);
    expect(shown(replay, "more")).toBe("more");
  }
});

test("the position to begin at may arrive later, or never", () => {
  const later = new Replay(TERMINAL_REPLAY_BYTES * 2);
  expect(shown(later, "torn")).toBe("");
  expect(shown(later, "torn\nline")).toBe("line");
  const never = new Replay(TERMINAL_REPLAY_BYTES * 2);
  expect(shown(never, "x".repeat(TERMINAL_REPLAY_SEARCH_BYTES - 1))).toBe("");
  expect(shown(never, "yz\n")).toBe("yz\n");
  never.gap();
  expect(shown(never, "torn\nline")).toBe("line");
});
