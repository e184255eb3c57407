/**
 * The bounded buffer of what is told of a message under way: a command's output, a model's words. Pure: every change makes
 * a new value.
 *
 * A model's words say where they stand, so that those that come twice are shown once, and a message that was read while
 * they came joins on to them exactly. Output does not: it is joined where the texts overlap, and the end of its command
 * brings all of it.
 */
import { collapseReturns, plainText, stripEscapes } from "../lib/terminal";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENT_CHARS, LIVE_SEGMENTS_COUNT, LIVE_TAIL_CHARS, OVERLAP_CHARS } from "../limits";
import type { Channel, Message, Piece } from "../types";

/** A run of output of one channel; `gap` marks where output may be missing. */
export interface Segment {
  id: number;
  channel: Channel | "gap";
  text: string;
}

export interface LiveOutput {
  chat_id: string;
  segments: Segment[];
  next_id: number;
  /** Characters now in `segments`. */
  kept_chars: number;
  /** Characters received in all, escapes included: tells which of two views of one output knows more. */
  received_chars: number;
  /** Characters of a model's words that were received, escapes included. */
  said_chars: Record<"text" | "reasoning", number>;
  /** The newest pieces as they came. */
  tail: Piece[];
  /** Whether the events were interrupted: what is loaded next knows better. */
  stale: boolean;
  /** Whether the oldest output had to go. */
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
    said_chars: { text: 0, reasoning: 0 },
    tail: [],
    stale: false,
    dropped: false,
    open_escape: { stdout: "", stderr: "", text: "", reasoning: "" },
  };
}

/** Adds a piece where it belongs: words that are known already are passed over. */
export function addPiece(output: LiveOutput, piece: Piece): LiveOutput {
  const added = { ...output, tail: newest([...output.tail, piece]) };
  const { channel, offset, text } = piece;
  if (offset === undefined || channel === "stdout" || channel === "stderr") return appendOutput(added, channel, text);
  const have = output.said_chars[channel];
  if (offset + text.length <= have) return added;
  const base = offset > have ? markGap(added) : added;
  const next = appendOutput(base, channel, text.slice(Math.max(0, have - offset)));
  return { ...next, said_chars: { ...next.said_chars, [channel]: offset + text.length } };
}

/** A message's own words, from which what is told goes on. */
export function fromMessage(message: Message): LiveOutput {
  const { chat_id, text, agent } = message;
  const empty = emptyOutput(chat_id);
  if (agent?.kind !== "reply") return text === "" ? empty : appendOutput(empty, "stdout", text);
  const reasoning = agent.reasoning ?? "";
  const thought = reasoning === "" ? empty : appendOutput(empty, "reasoning", reasoning);
  const said = text === "" ? thought : appendOutput(thought, "text", text);
  return { ...said, said_chars: { text: text.length, reasoning: reasoning.length } };
}

/** Takes a message under way as it was read; what events told meanwhile goes behind it. */
export function fromLoaded(output: LiveOutput | undefined, message: Message): LiveOutput {
  const loaded = fromMessage(message);
  if (output === undefined) return loaded;
  if (message.agent?.kind === "reply") return output.tail.reduce(addPiece, loaded);
  if (!output.stale && message.text.length <= output.received_chars) return output;
  let known = overlap(message.text, output.tail.map((piece) => piece.text).join(""));
  return output.tail.reduce((next, piece) => {
    const rest = piece.text.slice(known);
    known = Math.max(0, known - piece.text.length);
    return rest === "" ? next : addPiece(next, { ...piece, text: rest });
  }, loaded);
}

/** How much of `told` a text that ends amid it says already. */
function overlap(text: string, told: string): number {
  const end = text.slice(-OVERLAP_CHARS);
  const found = end === "" ? -1 : told.lastIndexOf(end);
  if (found !== -1) return found + end.length;
  for (let length = Math.min(told.length, end.length); length > 0; length -= 1) {
    if (end.endsWith(told.slice(0, length))) return length;
  }
  return 0;
}

export function appendOutput(output: LiveOutput, channel: Channel, text: string): LiveOutput {
  const { clean, rest } = stripEscapes(output.open_escape[channel] + text);
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

/** The events were interrupted: what was told meanwhile is not here. */
export function markStale(output: LiveOutput): LiveOutput {
  return { ...output, stale: true, tail: [] };
}

/** Whether the buffer says all of `text`, the final output, and tells its channels apart besides. */
export function saysAllOf(output: LiveOutput, text: string): boolean {
  if (output.dropped || output.segments.some((segment) => segment.channel === "gap")) return false;
  return output.segments.map((segment) => segment.text).join("") === plainText(text);
}

/** All that was told on one channel. */
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
  const merges = last !== undefined && last.channel === channel && last.text.length < LIVE_SEGMENT_CHARS;
  let rest = collapseReturns(merges ? last.text + text : text);
  if (merges) {
    output.segments.pop();
    output.kept_chars -= last.text.length;
  }
  let id = merges ? last.id : output.next_id;
  // Long runs go on in new elements, from a line's beginning where there is one, so that old ones need no new layout.
  for (;;) {
    const length = rest.length <= LIVE_SEGMENT_CHARS ? rest.length : lineEnd(rest);
    output.segments.push({ id, channel, text: rest.slice(0, length) });
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
  return newline > 0 ? newline + 1 : LIVE_SEGMENT_CHARS;
}

// Whole segments go, so that none is laid out again for it.
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
