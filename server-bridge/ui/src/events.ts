/**
 * The events WebSocket, kept open: it reconnects with full-jitter back-off until it is stopped.
 *
 *   connecting ──hello──► online ──close──► offline ──back-off, hello──► online
 *
 * Every event has a number. A new connection asks for the events after the last one delivered: where the server still has them, its
 * `hello` says `resumed`, and nothing is lost or repeated; otherwise the listener reloads everything.
 */
import { socketProtocols } from "./api/session";
import { RECONNECT_BASE_MS, RECONNECT_CAP_MS } from "./limits";
import type { ServerEvent } from "./types";

export type ConnectionState = "connecting" | "online" | "offline";

/** Milliseconds to wait before attempt number `attempt` (from 0); `random` is in [0, 1). */
export function backoffMs(attempt: number, random: number): number {
  return Math.floor(random * Math.min(RECONNECT_CAP_MS, RECONNECT_BASE_MS * 2 ** attempt));
}

export interface EventsOptions {
  url: string;
  onEvent: (event: ServerEvent) => void;
  onState: (state: ConnectionState) => void;
  /** Called when a connection ended before its `hello`: the page cannot tell a refused session from a dead network. */
  onRefused: () => void;
  /** Called with the time of the next attempt, in Unix milliseconds. */
  onWaiting?: (at: number) => void;
}

export class EventsClient {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private attempt = 0;
  /** The numbering that `seq` belongs to; null before the first `hello`. */
  private epoch: string | null = null;
  /** Number of the last event that was delivered. */
  private seq = 0;

  constructor(private readonly options: EventsOptions) {}

  /** Connects now in any state: an open socket is replaced, a waiting attempt is brought forward. */
  connect(): void {
    this.stop();
    // Later attempts stay "offline" until one succeeds, so that the banner does not flicker.
    if (this.attempt === 0) this.options.onState("connecting");
    const socket = new WebSocket(this.address(), socketProtocols());
    let greeted = false;
    socket.onmessage = (frame) => {
      if (typeof frame.data !== "string") return;
      const event = JSON.parse(frame.data) as ServerEvent;
      if (event.type === "hello") {
        greeted = true;
        this.attempt = 0;
        this.epoch = event.epoch ?? null;
        this.options.onState("online");
      }
      if (this.isNews(event)) this.options.onEvent(event);
    };
    socket.onclose = () => {
      this.socket = null;
      this.options.onState("offline");
      this.schedule();
      if (!greeted) this.options.onRefused();
    };
    this.socket = socket;
  }

  /** Connects now unless the socket is open or connecting. */
  retry(): void {
    if (this.socket === null) this.connect();
  }

  /** Closes the socket and cancels the next attempt. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    if (this.socket === null) return;
    this.socket.onclose = null;
    this.socket.onmessage = null;
    this.socket.close();
    this.socket = null;
  }

  private address(): string {
    if (this.epoch === null) return this.options.url;
    return `${this.options.url}?${new URLSearchParams({ after: String(this.seq), epoch: this.epoch })}`;
  }

  /** True if an event was not delivered before. Events that report the numbering itself are always new. */
  private isNews(event: ServerEvent): boolean {
    const stands = event.type === "hello" || event.type === "reset" || event.type === "lagged";
    if (!stands && event.seq <= this.seq) return false;
    this.seq = event.seq;
    return true;
  }

  private schedule(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    const waitMs = backoffMs(this.attempt, Math.random());
    this.timer = setTimeout(() => this.connect(), waitMs);
    this.options.onWaiting?.(Date.now() + waitMs);
    this.attempt += 1;
  }
}
