/**
 * Showing a terminal again: the end of its output, from a place where a terminal is in no middle of anything. A program
 * that fills the screen draws it anew when its size changes; for a shell the end is enough.
 */
import { TERMINAL_REPLAY_BYTES, TERMINAL_REPLAY_SEARCH_BYTES } from "../../limits";

const LINE_END = 0x0a;
const ESCAPE = 0x1b;

export class Replay {
  /** Where to attach from, in bytes. */
  readonly offset: number;
  /** How much more may be passed over; null once a place to begin at was found. */
  private search: number | null;

  /** Of a terminal that has written so many bytes. */
  constructor(outputBytes: number) {
    this.offset = Math.max(0, outputBytes - TERMINAL_REPLAY_BYTES);
    this.search = this.offset > 0 ? TERMINAL_REPLAY_SEARCH_BYTES : null;
  }

  /** What follows is in the middle of something. */
  gap(): void {
    this.search = TERMINAL_REPLAY_SEARCH_BYTES;
  }

  /** What of this output is to be shown. */
  pass(output: Uint8Array): Uint8Array {
    if (this.search === null) return output;
    const reach = output.subarray(0, this.search);
    const at = reach.findIndex((byte) => byte === LINE_END || byte === ESCAPE);
    if (at === -1 && reach.length < this.search) {
      this.search -= reach.length;
      return output.subarray(output.length);
    }
    this.search = null;
    // Nothing to begin at within reach: better a torn line than nothing.
    if (at === -1) return output;
    return output.subarray(output[at] === LINE_END ? at + 1 : at);
  }
}
