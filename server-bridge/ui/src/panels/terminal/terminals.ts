/**
 * The terminals of this page. They are kept outside the panel, so that closing it loses nothing, and are stored by their ids, so
 * that a reload finds them again: the commands run on the runner, not in the page.
 */
import { HIDDEN_STALE_MS, TERMINALS_COUNT, TERMINAL_NEWS_MS } from "../../limits";
import { execs } from "../requests";
import { type Preferences, boundedFont, keepPreferences, keptPreferences } from "./preferences";
import { type Kept, TerminalSession, type TerminalView } from "./session";
import { randomId } from "../../lib/randomId";
import { watchDark } from "../../lib/useDark";

export interface Snapshot {
  tabs: TerminalView[];
  active: string | null;
  preferences: Preferences;
}

const KEY = "sandbridge.terminals";

export class Terminals {
  private sessions: TerminalSession[] = [];
  private active: string | null = null;
  private owner: string | null = null;
  private preferences = keptPreferences();
  private listeners = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | null = null;
  private current: Snapshot = { tabs: [], active: null, preferences: this.preferences };
  private leave: () => void = () => {};

  constructor() {
    watchDark(() => this.each((session) => session.screen.applyTheme()));
    watchNetwork(
      () => this.each((session) => session.retry()),
      () => this.each((session) => session.reconnect()),
    );
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): Snapshot => this.current;

  /** Sets the user: drops terminals of another user, and restores those of the page before a reload. */
  belongTo(owner: string): void {
    if (this.owner === owner) return;
    this.each((session) => session.close());
    this.sessions = [];
    this.owner = owner;
    const kept = read();
    if (kept?.owner === owner) {
      this.sessions = kept.terminals.map((terminal) => this.session(terminal, true));
      this.active = kept.active;
    }
    this.publish();
  }

  /** Sets the function that runs when the user leaves the terminal by keyboard. */
  onLeave(leave: () => void): void {
    this.leave = leave;
  }

  get isFull(): boolean {
    return this.sessions.length >= TERMINALS_COUNT;
  }

  find(id: string): TerminalSession | undefined {
    return this.sessions.find((session) => session.view.exec_id === id);
  }

  open(place: string | null): void {
    if (this.isFull) return;
    const session = this.session({ exec_id: randomId(), place, request: null }, false);
    this.sessions.push(session);
    this.select(session.view.exec_id);
  }

  /** Shows a terminal that is already running. */
  adopt(id: string, place: string | null): void {
    if (this.find(id) === undefined) {
      if (this.isFull) return;
      this.sessions.push(this.session({ exec_id: id, place, request: null }, true));
    }
    this.select(id);
  }

  /** Opens a new shell in place of one that ended. */
  restart(id: string): void {
    this.replace(id, (view) => this.session({ exec_id: randomId(), place: view.place, request: null }, false));
  }

  /** Attaches again to a terminal whose connection was lost. */
  reattach(id: string): void {
    this.replace(id, (view) => this.session({ exec_id: id, place: view.place, request: null }, true));
  }

  select(id: string): void {
    this.active = id;
    this.publish();
  }

  /** Removes a terminal from the page; its command continues unless `isEnded`. */
  async close(id: string, isEnded: boolean): Promise<void> {
    const at = this.sessions.findIndex((session) => session.view.exec_id === id);
    const session = this.sessions[at];
    if (session === undefined) return;
    session.close();
    this.sessions.splice(at, 1);
    if (this.active === id) this.active = (this.sessions[at] ?? this.sessions[at - 1])?.view.exec_id ?? null;
    this.publish();
    // Not through the socket, which may be disconnected at the moment.
    if (isEnded) await execs.cancel(id);
  }

  prefer(change: Partial<Preferences>): void {
    this.preferences = { ...this.preferences, ...change };
    this.preferences.font_px = boundedFont(this.preferences.font_px);
    keepPreferences(this.preferences);
    this.each((session) => session.screen.apply(this.preferences));
    this.publish();
  }

  private session(kept: Kept, isKnown: boolean): TerminalSession {
    return new TerminalSession(
      kept,
      isKnown,
      this.preferences,
      () => this.changed(),
      () => this.leave(),
    );
  }

  private replace(id: string, make: (view: TerminalView) => TerminalSession): void {
    const at = this.sessions.findIndex((session) => session.view.exec_id === id);
    const old = this.sessions[at];
    if (old === undefined) return;
    old.close();
    const session = make(old.view);
    this.sessions[at] = session;
    this.select(session.view.exec_id);
  }

  private each(work: (session: TerminalSession) => void): void {
    for (const session of this.sessions) work(session);
  }

  /** Delays updates, since a program may change its title a thousand times a second. */
  private changed(): void {
    this.timer ??= setTimeout(() => this.publish(), TERMINAL_NEWS_MS);
  }

  private publish(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const tabs = this.sessions.map((session) => session.view);
    if (!tabs.some((tab) => tab.exec_id === this.active)) this.active = tabs[0]?.exec_id ?? null;
    this.current = { tabs, active: this.active, preferences: this.preferences };
    this.keep();
    for (const listener of this.listeners) listener();
  }

  private keep(): void {
    if (this.owner === null) return;
    const terminals = this.sessions.map((session) => session.keepsake);
    window.sessionStorage.setItem(KEY, JSON.stringify({ owner: this.owner, active: this.active, terminals }));
  }
}

function read(): { owner: string; active: string | null; terminals: Kept[] } | null {
  try {
    return JSON.parse(window.sessionStorage.getItem(KEY) ?? "null") as ReturnType<typeof read>;
  } catch {
    return null;
  }
}

/** Calls back when the network returns, and when the page is shown after a long time, as when a laptop wakes. */
function watchNetwork(onBack: () => void, onStale: () => void): void {
  let hiddenAt = 0;
  window.addEventListener("online", onBack);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") hiddenAt = Date.now();
    else if (Date.now() - hiddenAt > HIDDEN_STALE_MS) onStale();
    else onBack();
  });
}

export const terminals = new Terminals();
