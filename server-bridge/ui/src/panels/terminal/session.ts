/** One terminal: its screen, its link to the command, and the page's controls around it. */
import i18next from "i18next";
import { ApiError } from "../../api";
import { copyText } from "../../lib/copyText";
import { TERMINAL_PASTE_BYTES, TERMINAL_RESIZE_MS } from "../../limits";
import { bytesText } from "../size";
import { apiSocket, execs } from "../requests";
import { type End, ExecLink, type LinkState, type TerminalRequest } from "./link";
import type { Preferences } from "./preferences";
import { Replay } from "./replay";
import { Screen } from "./screen";

/** A terminal as it is stored across a reload. */
export interface Kept {
  exec_id: string;
  /** The requested place, or the place where it runs; null for the server's choice. */
  place: string | null;
  /** The request; null once the server has confirmed that the terminal runs. */
  request: TerminalRequest | null;
}

/** A terminal as the page shows it; a new object after every change. */
export interface TerminalView {
  exec_id: string;
  place: string | null;
  title: string;
  state: LinkState;
  /** The text that the program asks to copy to the clipboard; null if there is none. */
  copy: string | null;
  /** The link's address under the pointer; null if there is none. */
  link: string | null;
  has_rung: boolean;
  paste_refused: boolean;
}

const TERM = "xterm-256color";

export class TerminalSession {
  readonly screen: Screen;
  view: TerminalView;
  private link: ExecLink | null = null;
  private replay: Replay | null = null;
  /** Output before this offset is older than this view: the program's queries in it have already been answered. */
  private pastBytes = 0;
  private shownBytes = 0;
  private isStarted = false;
  private isClosed = false;
  private sizeTimer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private readonly kept: Kept,
    /** True if the terminal is already running, and is attached to instead of requested. */
    private readonly isKnown: boolean,
    preferences: Preferences,
    private readonly onChange: () => void,
    onLeave: () => void,
  ) {
    this.view = {
      exec_id: kept.exec_id,
      place: kept.place,
      title: "",
      state: { kind: "connecting" },
      copy: null,
      link: null,
      has_rung: false,
      paste_refused: false,
    };
    this.screen = new Screen(preferences, {
      onInput: (bytes) => this.send(bytes),
      onTitle: (title) => this.show({ title }),
      onBell: () => this.show({ has_rung: true }),
      onCopyRequest: (copy) => this.shownBytes >= this.pastBytes && this.show({ copy }),
      onLink: (link) => this.show({ link }),
      onSize: () => this.tellSize(),
      onLeave,
    });
  }

  /** The part of the terminal to store across a reload. */
  get keepsake(): Kept {
    return { ...this.kept, place: this.view.place };
  }

  /** Puts the terminal on the page; the command is requested once the size is known. */
  mount(parent: HTMLElement): void {
    parent.append(this.screen.host);
    this.screen.show();
    this.show({ has_rung: false });
    if (this.isStarted) return;
    this.isStarted = true;
    if (this.isKnown && this.kept.request === null) void this.attach();
    else this.start();
  }

  /** Brings the next attempt to connect forward. */
  retry(): void {
    this.link?.retry();
  }

  /** Reconnects: the socket may be dead without knowing it. */
  reconnect(): void {
    this.link?.connect();
  }

  /** Answers the program's request to copy a text. */
  async answerCopy(allow: boolean): Promise<void> {
    const text = this.view.copy;
    this.show({ copy: null });
    if (allow && text !== null) await copyText(text);
    this.screen.focus();
  }

  /** Closes the terminal here, and leaves the command running. */
  close(): void {
    this.isClosed = true;
    this.link?.close();
    if (this.sizeTimer !== null) clearTimeout(this.sizeTimer);
    this.screen.dispose();
  }

  private start(): void {
    this.kept.request ??= {
      ...(this.kept.place === null ? {} : { on: this.kept.place }),
      pty: { ...this.screen.size, term: TERM },
    };
    this.connect(this.kept.request, 0);
  }

  private async attach(): Promise<void> {
    let outputBytes = 0;
    try {
      outputBytes = (await execs.report(this.kept.exec_id, 0, 0)).output_bytes;
    } catch (error) {
      const end = endOf(error);
      if (end !== null) return this.show({ state: { kind: "ended", end } });
      // The runner is offline or no longer knows the command; the server reports the state on the socket.
    }
    if (this.isClosed) return;
    this.replay = new Replay(outputBytes);
    this.pastBytes = outputBytes;
    const { offset } = this.replay;
    if (offset > 0) this.screen.write(notice("term.earlier", offset), () => {});
    this.connect(null, offset);
  }

  private connect(request: TerminalRequest | null, offset: number): void {
    this.shownBytes = offset;
    this.link = new ExecLink({
      execId: this.kept.exec_id,
      request,
      offset,
      connect: apiSocket,
      refused: () => this.refused(),
      onState: (state) => this.show({ state }),
      onStarted: (runner) => {
        this.kept.request = null;
        this.show({ place: runner ?? this.view.place });
        if (this.replay !== null && this.pastBytes === this.shownBytes) this.link?.redraw();
      },
      onOutput: (bytes) => this.output(bytes),
      onGap: (bytes) => this.gap(bytes),
    });
    this.link.resize(this.screen.size.rows, this.screen.size.columns);
    this.link.connect();
  }

  /** The reason why the server refuses this page; null if it may be temporary. */
  private async refused(): Promise<End | null> {
    if (this.kept.request !== null) return null;
    try {
      await execs.one(this.kept.exec_id);
      return null;
    } catch (error) {
      return endOf(error);
    }
  }

  private output(bytes: Uint8Array): void {
    const shown = this.replay?.pass(bytes) ?? bytes;
    this.screen.write(shown, () => this.wrote(bytes.length));
  }

  private gap(bytes: number): void {
    this.screen.reset();
    this.replay ??= new Replay(0);
    this.replay.gap();
    this.screen.write(notice("term.gap", bytes), () => this.wrote(bytes));
  }

  private wrote(bytes: number): void {
    const wasPast = this.shownBytes < this.pastBytes;
    this.shownBytes += bytes;
    if (this.isClosed) return;
    this.link?.wrote(bytes);
    if (wasPast && this.shownBytes >= this.pastBytes) this.link?.redraw();
  }

  private send(bytes: Uint8Array): void {
    if (this.link === null || this.shownBytes < this.pastBytes) return;
    const fits = this.link.waitingBytes + bytes.length <= TERMINAL_PASTE_BYTES;
    if (fits) this.link.send(bytes);
    if (fits === this.view.paste_refused) this.show({ paste_refused: !fits });
  }

  private tellSize(): void {
    if (this.sizeTimer !== null) clearTimeout(this.sizeTimer);
    this.sizeTimer = setTimeout(() => this.link?.resize(this.screen.size.rows, this.screen.size.columns), TERMINAL_RESIZE_MS);
  }

  private show(change: Partial<TerminalView>): void {
    if (this.isClosed) return;
    this.view = { ...this.view, ...change };
    this.onChange();
  }
}

/** A dim line that the page itself writes into the terminal. */
function notice(key: "term.gap" | "term.earlier", bytes: number): string {
  return `\u001b[2m[${i18next.t(key, { ns: "panels", size: bytesText(bytes) })}]\u001b[0m\r\n`;
}

/** The end that an error from the server implies; null if the error may be temporary. */
function endOf(error: unknown): End | null {
  if (!(error instanceof ApiError) || (error.status !== 404 && error.status !== 401)) return null;
  return { type: "error", kind: error.kind, message: error.message };
}
