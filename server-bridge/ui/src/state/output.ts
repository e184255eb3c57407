/**
 * The bounded buffer of a running message's live output: a command's output or a model's words. Pure: every change makes a new value.
 *
 * Each piece has its offset in the whole (`at`), so that a repeated one is shown once, a missing one is noticed, and a page of
 * messages loaded while pieces arrive joins on to them exactly.
 */
import { styleAfter, withoutColours } from "../lib/colours";
import { collapseReturns, keepColours, plainText, stripEscapes } from "../lib/terminal";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENT_CHARS, LIVE_SEGMENTS_COUNT, LIVE_TAIL_CHARS } from "../limits";
import type { Channel, Piece } from "../types";

/** A run of output of one channel; `gap` marks where output may be missing. */
export interface Segment {
  id: number;
  channel: Channel | "gap";
  /** The text, with colour sequences if a command wrote it. */
  text: string;
  /** The colours at the beginning of the text. */
  style?: string;
}

export interface LiveOutput {
  chat_id: string;
  segments: Segment[];
  next_id: number;
  /** Characters now in `segments`. */
  kept_chars: number;
  /** Characters received in all, escapes included: used to compare the completeness of two copies of one output. */
  received_chars: number;
  /** The offsets, in the whole output, of the buffer's beginning and end. */
  first: number;
  end: number;
  /** The newest pieces, as received. */
  tail: Piece[];
  /** True if the events were interrupted: data loaded next is newer. */
  stale: boolean;
  /** True if the oldest output was dropped. */
  dropped: boolean;
  /** An escape sequence still open at the end of each channel. */
  open_escape: Record<Channel, string>;
}

export function emptyOutput(chatId: string): LiveOutput {
  return {
    chat_id: chatId,
    segments: [],
    next_id: 0,
    kept_chars: 0,
    received_chars: 0,
    first: 0,
    end: 0,
    tail: [],
    stale: false,
    dropped: false,
    open_escape: { stdout: "", stderr: "", text: "", reasoning: "" },
  };
}

/** Adds a piece at its offset, without the part that is already known. */
export function addPiece(output: LiveOutput, piece: Piece): LiveOutput {
  const end = piece.at + piece.text.length;
  if (end <= output.end && output.end > 0) return output;
  const isFirst = output.segments.length === 0 && output.end === 0;
  const base = !isFirst && piece.at > output.end ? markGap(output) : output;
  const next = appendOutput(base, piece.channel, isFirst ? piece.text : piece.text.slice(Math.max(0, output.end - piece.at)));
  return { ...next, first: isFirst ? piece.at : next.first, end, tail: newest([...output.tail, piece]) };
}

/** Takes the server's text of a running message; pieces that arrived as events meanwhile are appended. */
export function loadPieces(output: LiveOutput | undefined, chatId: string, pieces: Piece[]): LiveOutput | undefined {
  const first = pieces[0];
  if (first === undefined) return output;
  const isBehind = output !== undefined && !output.stale && output.first <= first.at;
  const base = isBehind ? output : emptyOutput(chatId);
  const added = isBehind || output === undefined ? pieces : [...pieces, ...output.tail];
  return added.reduce(addPiece, base);
}

/** Starts over with a text; the offsets continue from where they were. */
export function restart(output: LiveOutput | undefined, chatId: string, channel: Channel, text: string): LiveOutput {
  const end = output?.end ?? 0;
  return { ...appendOutput(emptyOutput(chatId), channel, text), first: end, end, tail: [] };
}

export function appendOutput(output: LiveOutput, channel: Channel, text: string): LiveOutput {
  const isWords = channel === "text" || channel === "reasoning";
  const { clean, rest } = (isWords ? stripEscapes : keepColours)(output.open_escape[channel] + text);
  const next: LiveOutput = {
    ...output,
    segments: [...output.segments],
    received_chars: output.received_chars + text.length,
    open_escape: { ...output.open_escape, [channel]: rest },
  };
  if (clean !== "") push(next, channel, clean);
  trim(next);
  return next;
}

/** Marks that output may be missing from here on, once per gap. */
export function markGap(output: LiveOutput): LiveOutput {
  const last = output.segments.at(-1);
  if (last === undefined || last.channel === "gap") return output;
  const gap: Segment = { id: output.next_id, channel: "gap", text: "" };
  return { ...output, segments: [...output.segments, gap], next_id: output.next_id + 1 };
}

/** Marks that the events were interrupted: offsets may start again, and pieces from the interruption are missing. */
export function markStale(output: LiveOutput): LiveOutput {
  return { ...output, stale: true, tail: [], first: 0, end: 0 };
}

/** True if the buffer contains the complete final output `text`, and so adds the separation of its channels. */
export function saysAllOf(output: LiveOutput, text: string): boolean {
  if (output.dropped || output.segments.some((segment) => segment.channel === "gap")) return false;
  return withoutColours(output.segments.map((segment) => segment.text).join("")) === plainText(text);
}

/** Everything received on one channel. */
export function saidOn(output: LiveOutput | undefined, channel: Channel): string {
  if (output === undefined) return "";
  return output.segments.filter((segment) => segment.channel === channel).map((segment) => segment.text).join("");
}

function newest(pieces: Piece[]): Piece[] {
  let kept = 0;
  for (let at = pieces.length - 1; at >= 0; at -= 1) {
    kept += pieces[at]?.text.length ?? 0;
    if (kept > LIVE_TAIL_CHARS) return pieces.slice(Math.min(at + 1, pieces.length - 1));
  }
  return pieces;
}

function push(output: LiveOutput, channel: Channel, text: string): void {
  const last = output.segments.at(-1);
  const before = output.segments.findLast((segment) => segment.channel === channel);
  const merges = last !== undefined && last.channel === channel && last.text.length < LIVE_SEGMENT_CHARS;
  let rest = collapseReturns(merges ? last.text + text : text);
  if (merges) {
    output.segments.pop();
    output.kept_chars -= last.text.length;
  }
  let id = merges ? last.id : output.next_id;
  let style = merges ? (last.style ?? "") : before === undefined ? "" : styleAfter(before.text, before.style ?? "");
  // Long runs continue in new elements, from a line's beginning where there is one, so that old ones need no new layout.
  for (;;) {
    const length = rest.length <= LIVE_SEGMENT_CHARS ? rest.length : lineEnd(rest);
    const piece = rest.slice(0, length);
    output.segments.push({ id, channel, text: piece, ...(style !== "" && { style }) });
    style = styleAfter(piece, style);
    output.kept_chars += length;
    output.next_id = Math.max(output.next_id, id + 1);
    rest = rest.slice(length);
    if (rest === "") return;
    id = output.next_id;
  }
}

/** The end of the last whole line within a segment's size. */
function lineEnd(text: string): number {
  const newline = text.lastIndexOf("\n", LIVE_SEGMENT_CHARS - 1);
  if (newline > 0) return newline + 1;
  // Not within a colour sequence.
  const escape = text.lastIndexOf("\u001b", LIVE_SEGMENT_CHARS - 1);
  const isCut = escape > 0 && !text.slice(escape, LIVE_SEGMENT_CHARS).includes("m");
  return isCut ? escape : LIVE_SEGMENT_CHARS;
}

// Drops whole segments, so that no remaining segment has to be laid out again.
function trim(output: LiveOutput): void {
  let first = 0;
  for (const segment of output.segments) {
    const crowded = output.segments.length - first > LIVE_SEGMENTS_COUNT;
    if (!crowded && output.kept_chars <= LIVE_OUTPUT_CHARS) break;
    output.kept_chars -= segment.text.length;
    first += 1;
  }
  if (first === 0) return;
  output.dropped = true;
  output.segments.splice(0, first);
}
