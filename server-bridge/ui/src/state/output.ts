/** The bounded buffer of a running command's live output. Pure: every change makes a new value. */
import { collapseReturns, plainText, stripEscapes } from "../lib/terminal";
import { LIVE_OUTPUT_CHARS, LIVE_SEGMENT_CHARS, LIVE_SEGMENTS_COUNT } from "../limits";
import type { Channel } from "../types";

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
    dropped: false,
    open_escape: { stdout: "", stderr: "", text: "", reasoning: "" },
  };
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

/** Whether the buffer says all of `text`, the final output, and tells its channels apart besides. */
export function saysAllOf(output: LiveOutput, text: string): boolean {
  if (output.dropped || output.segments.some((segment) => segment.channel === "gap")) return false;
  return output.segments.map((segment) => segment.text).join("") === plainText(text);
}

function push(output: LiveOutput, channel: Channel, text: string): void {
  const last = output.segments.at(-1);
  if (last !== undefined && last.channel === channel && last.text.length < LIVE_SEGMENT_CHARS) {
    const merged = collapseReturns(last.text + text);
    output.kept_chars += merged.length - last.text.length;
    output.segments[output.segments.length - 1] = { ...last, text: merged };
    return;
  }
  const fresh = collapseReturns(text);
  output.kept_chars += fresh.length;
  output.segments.push({ id: output.next_id, channel, text: fresh });
  output.next_id += 1;
}

function trim(output: LiveOutput): void {
  let first = 0;
  for (const segment of output.segments) {
    const crowded = output.segments.length - first > LIVE_SEGMENTS_COUNT;
    const excess = output.kept_chars - LIVE_OUTPUT_CHARS;
    if (!crowded && excess <= 0) break;
    output.dropped = true;
    if (crowded || segment.text.length <= excess) {
      output.kept_chars -= segment.text.length;
      first += 1;
      continue;
    }
    output.segments[first] = { ...segment, text: segment.text.slice(excess) };
    output.kept_chars -= excess;
    break;
  }
  if (first > 0) output.segments.splice(0, first);
}
