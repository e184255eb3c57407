/**
 * The WebSocket of one terminal, kept through lost connections.
 *
 *   connecting ──started──► open ◄──resumed / interrupted──► away
 *        ▲                   │ close without a last frame
 *        └──back-off── lost ◄┘        exit, error ──► ended
 *
 * The command is requested once under an id chosen here; the same request, or attaching to the id, continues it. Output is
 * acknowledged once the screen has written it, which slows down a flood. The amount of unacknowledged input is limited, and no
 * input is kept for later: input typed into a lost connection is refused, and the page says so. Of several windows that show the
 * same terminal, the one that connected last may type; another connects again when the user types there.
 */
import { backoffMs } from "../../events";
import { randomId } from "../../lib/randomId";
import { TERMINAL_ACK_BYTES, TERMINAL_ACK_MS, TERMINAL_INPUT_PIECE_BYTES, TERMINAL_INPUT_WINDOW_BYTES } from "../../limits";
import type { ExecAsk, ExecClientFrame, ExecServerFrame, PtyAsk } from "../../types";

export type TerminalRequest = Pick<ExecAsk, "on" | "cwd"> & { pty: Required<PtyAsk> };

/** The last frame of a socket. */
export type End = Extract<ExecServerFrame, { type: "exit" | "error" }>;

export type LinkState =
  | { kind: "connecting" }
  | { kind: "open" }
  /** The runner is offline; the command there continues. */
  | { kind: "away" }
  | { kind: "lost" }
  | { kind: "ended"; end: End };

export interface LinkOptions {
  execId: string;
  /** The request, sent until the server has confirmed that the command runs; null for a command that is already running. */
  request: TerminalRequest | null;
  /** The number of bytes of the output to skip. */
  offset: number;
  /** Opens a WebSocket of the API. */
  connect: (path: string) => WebSocket;
  /** The reason why a connection was refused before its first frame; null if that may be temporary. */
  refused: () => Promise<End | null>;
  onState: (state: LinkState) => void;
  /** Called when the command is running, with its runner. */
  onStarted: (runner: string | null) => void;
  /** Called with output, to be acknowledged with `wrote`. */
  onOutput: (bytes: Uint8Array) => void;
  /** Called with a number of bytes that the server no longer has, to be acknowledged too. */
  onGap: (bytes: number) => void;
}

/** Errors after which the command may still be running. */
const PASSING = ["unavailable", "unauthorized"];

export class ExecLink {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private ackTimer: ReturnType<typeof setTimeout> | null = null;
  private attempt = 0;
  /** Identifies this window and, with `connections`, the order of its connections: one that arrives late does not take over. */
  private readonly client = randomId();
  private connections = 0;
  private state: LinkState = { kind: "connecting" };
  private pending: TerminalRequest | null;
  private received: number;
  private written: number;
  private acknowledged: number;
  private input: Uint8Array[] = [];
  private sent = 0;
  private taken = 0;
  /** True if another window's input is accepted. */
  private isWatching = false;
  private size: { rows: number; columns: number } | null = null;

  constructor(private readonly options: LinkOptions) {
    this.pending = options.request;
    this.received = this.written = this.acknowledged = options.offset;
  }

  /** Connects now, in any state. */
  connect(): void {
    if (this.state.kind === "ended") return;
    this.drop();
    const { execId, connect, refused } = this.options;
    const request = this.pending;
    const { client } = this;
    const connection = this.connections++;
    const attach = `/execs/${execId}?offset=${this.received}&acks=true&client=${client}&connection=${connection}`;
    const socket = connect(request === null ? attach : "/exec");
    socket.binaryType = "arraybuffer";
    let isGreeted = false;
    socket.onopen = () => {
      if (request === null) return;
      const ask: ExecAsk = { ...request, exec_id: execId, offset: this.received, acks: true, client, connection };
      socket.send(JSON.stringify(ask));
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      isGreeted = true;
      if (data instanceof ArrayBuffer) this.output(new Uint8Array(data, 1));
      else if (typeof data === "string") this.receive(JSON.parse(data) as ExecServerFrame);
    };
    socket.onclose = () => {
      this.socket = null;
      if (this.state.kind === "ended") return;
      this.isWatching = false;
      this.change({ kind: "lost" });
      this.schedule();
      if (!isGreeted) void refused().then((end) => end !== null && this.end(end));
    };
    this.socket = socket;
  }

  /** Brings the next attempt to connect forward. */
  retry(): void {
    if (this.socket === null) this.connect();
  }

  /** True if input would reach the program. */
  get takesInput(): boolean {
    return this.state.kind === "open" || this.state.kind === "away";
  }

  /** The bytes of input that are not sent yet. */
  get waitingBytes(): number {
    return this.input.reduce((sum, piece) => sum + piece.length, 0);
  }

  send(bytes: Uint8Array): void {
    if (!this.takesInput) return;
    for (let at = 0; at < bytes.length; at += TERMINAL_INPUT_PIECE_BYTES) {
      this.input.push(bytes.subarray(at, at + TERMINAL_INPUT_PIECE_BYTES));
    }
    if (!this.isWatching) this.sendWaiting();
    else if (this.socket?.readyState === WebSocket.OPEN) this.takeOver();
  }

  /** Connects again, with the input typed meanwhile. */
  private takeOver(): void {
    const typed = this.input;
    this.connect();
    this.input = typed;
  }

  /** Called when the screen has written this many more bytes. */
  wrote(bytes: number): void {
    this.written += bytes;
    if (this.written - this.acknowledged >= TERMINAL_ACK_BYTES) this.acknowledge();
    else this.ackTimer ??= setTimeout(() => this.acknowledge(), TERMINAL_ACK_MS);
  }

  resize(rows: number, columns: number): void {
    this.size = { rows, columns };
    if (this.takesInput) this.tell({ type: "resize", rows, columns });
  }

  /** Makes a full-screen program redraw. */
  redraw(): void {
    if (this.size === null) return;
    const { rows, columns } = this.size;
    this.tell({ type: "resize", rows: Math.max(1, rows - 1), columns });
    this.tell({ type: "resize", rows, columns });
  }

  /** Disconnects, and leaves the command running. */
  close(): void {
    this.drop();
    if (this.ackTimer !== null) clearTimeout(this.ackTimer);
  }

  private receive(frame: ExecServerFrame): void {
    switch (frame.type) {
      case "started":
        this.pending = null;
        this.attempt = 0;
        this.sent = this.taken = frame.stdin_offset;
        // Input that takes the terminal over is kept until the new connection is open; otherwise nothing is kept.
        if (!this.isWatching) this.input = [];
        this.isWatching = false;
        this.change({ kind: "open" });
        this.options.onStarted(frame.runner);
        if (this.size !== null) this.tell({ type: "resize", ...this.size });
        this.sendWaiting();
        break;
      case "watching":
        this.isWatching = true;
        break;
      case "gap":
        this.received += frame.bytes;
        this.options.onGap(frame.bytes);
        break;
      case "input":
        this.taken = frame.offset;
        this.sendWaiting();
        break;
      case "interrupted":
        this.change({ kind: "away" });
        break;
      case "resumed":
        this.change({ kind: "open" });
        break;
      case "exit":
        this.end(frame);
        break;
      case "error":
        // After a passing error, the close that follows counts as a lost connection.
        if (!PASSING.includes(frame.kind)) this.end(frame);
        break;
    }
  }

  private output(bytes: Uint8Array): void {
    this.received += bytes.length;
    this.options.onOutput(bytes);
  }

  private sendWaiting(): void {
    while (this.socket?.readyState === WebSocket.OPEN && this.sent - this.taken < TERMINAL_INPUT_WINDOW_BYTES) {
      const piece = this.input.shift();
      if (piece === undefined) return;
      const frame = new Uint8Array(piece.length + 1);
      frame.set(piece, 1);
      this.socket.send(frame);
      this.sent += piece.length;
    }
  }

  private acknowledge(): void {
    if (this.ackTimer !== null) clearTimeout(this.ackTimer);
    this.ackTimer = null;
    this.acknowledged = this.written;
    this.tell({ type: "ack", offset: this.written });
  }

  private tell(frame: ExecClientFrame): void {
    if (this.socket?.readyState === WebSocket.OPEN && this.pending === null) this.socket.send(JSON.stringify(frame));
  }

  private end(end: End): void {
    this.change({ kind: "ended", end });
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private change(state: LinkState): void {
    if (this.state.kind === "ended") return;
    this.state = state;
    this.options.onState(state);
  }

  private drop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.input = [];
    if (this.socket === null) return;
    this.socket.onclose = this.socket.onmessage = this.socket.onopen = null;
    this.socket.close();
    this.socket = null;
  }

  private schedule(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = setTimeout(() => this.connect(), backoffMs(this.attempt, Math.random()));
    this.attempt += 1;
  }
}
