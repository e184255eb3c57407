/**
 * The output of a terminal that is shown again: the end of its output, from a position that is not inside a sequence. A full-screen program redraws
 * when its size changes; for a shell the end is enough.
 */
import { TERMINAL_REPLAY_BYTES, TERMINAL_REPLAY_SEARCH_BYTES } from "../../limits";

const LINE_END = 0x0a;
const ESCAPE = 0x1b;

export class Replay {
  /** The offset to attach from, in bytes. */
  readonly offset: number;
  /** How many more bytes may be skipped; null once a position to begin at is found. */
  private search: number | null;

  /** Makes a replay for a terminal that has written this many bytes. */
  constructor(outputBytes: number) {
    this.offset = Math.max(0, outputBytes - TERMINAL_REPLAY_BYTES);
    this.search = this.offset > 0 ? TERMINAL_REPLAY_SEARCH_BYTES : null;
  }

  /** Searches for a new position: the following output may begin inside a sequence. */
  gap(): void {
    this.search = TERMINAL_REPLAY_SEARCH_BYTES;
  }

  /** Returns the part of this output to show. */
  pass(output: Uint8Array): Uint8Array {
    if (this.search === null) return output;
    const reach = output.subarray(0, this.search);
    const at = reach.findIndex((byte) => byte === LINE_END || byte === ESCAPE);
    if (at === -1 && reach.length < this.search) {
      this.search -= reach.length;
      return output.subarray(output.length);
    }
    this.search = null;
    // If there is no position to begin at, a torn line is better than nothing.
    if (at === -1) return output;
    return output.subarray(output[at] === LINE_END ? at + 1 : at);
  }
}
