/**
 * A terminal's screen: xterm, set up so that a program's output cannot do harm. A program cannot query or move windows, can copy text
 * only with the user's permission, and its links are http and https addresses that open on Ctrl+click.
 */
import { FitAddon } from "@xterm/addon-fit";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import { TERMINAL_SCROLLBACK_LINES } from "../../limits";
import type { Preferences } from "./preferences";
import { boundedTitle, copyRequest, openableLink, pasteable } from "./text";
import { readTheme } from "./theme";
import styles from "./terminal.module.css";

export interface ScreenEvents {
  /** Called with keys, pasted text, and the terminal's answers to the program's queries. */
  onInput: (bytes: Uint8Array) => void;
  onTitle: (title: string) => void;
  onBell: () => void;
  /** Called when the program asks to copy this text to the clipboard. */
  onCopyRequest: (text: string) => void;
  /** Called with the link's address under the pointer; null when the pointer leaves it. */
  onLink: (address: string | null) => void;
  onSize: (rows: number, columns: number) => void;
  /** Called when the user leaves the terminal by keyboard. */
  onLeave: () => void;
}

const CLIPBOARD = 52;

/** The minimum contrast of WCAG AA, enforced because programs choose colours for other backgrounds. */
const CONTRAST = 4.5;

export class Screen {
  /** The element to put on the page, which may be moved later. */
  readonly host = document.createElement("div");
  private readonly terminal: Terminal;
  private readonly fitting = new FitAddon();
  private isOpen = false;

  constructor(
    preferences: Preferences,
    private readonly events: ScreenEvents,
  ) {
    this.host.className = styles.terminalScreen ?? "";
    const links = {
      activate: (event: MouseEvent, text: string) => openLink(event, text),
      hover: (_: MouseEvent, text: string) => events.onLink(openableLink(text)),
      leave: () => events.onLink(null),
    };
    this.terminal = new Terminal({
      scrollback: TERMINAL_SCROLLBACK_LINES,
      fontFamily: window.getComputedStyle(document.documentElement).getPropertyValue("--mono"),
      fontSize: preferences.font_px,
      screenReaderMode: preferences.screen_reader,
      minimumContrastRatio: CONTRAST,
      macOptionIsMeta: true,
      linkHandler: links,
      theme: readTheme(),
    });
    this.terminal.loadAddon(this.fitting);
    this.terminal.loadAddon(new WebLinksAddon(links.activate, { hover: links.hover, leave: links.leave }));
    this.listen();
  }

  /** Draws the screen in its size on the page; called once it is there. */
  show(): void {
    if (!this.isOpen) this.terminal.open(this.host);
    this.isOpen = true;
    this.fit();
  }

  /** Fits the terminal to the size of its container. */
  fit(): void {
    if (this.isOpen && this.host.isConnected && this.host.clientHeight > 0) this.fitting.fit();
  }

  get size(): { rows: number; columns: number } {
    return { rows: this.terminal.rows, columns: this.terminal.cols };
  }

  write(bytes: Uint8Array | string, onShown: () => void): void {
    this.terminal.write(bytes, onShown);
  }

  reset(): void {
    this.terminal.reset();
  }

  clear(): void {
    this.terminal.clear();
  }

  focus(): void {
    this.terminal.focus();
  }

  /** Sends a text as if it were typed. */
  type(text: string): void {
    this.terminal.input(text);
  }

  apply(preferences: Preferences): void {
    this.terminal.options.fontSize = preferences.font_px;
    this.terminal.options.screenReaderMode = preferences.screen_reader;
    this.fit();
  }

  applyTheme(): void {
    this.terminal.options.theme = readTheme();
  }

  dispose(): void {
    this.terminal.dispose();
    this.host.remove();
  }

  private listen(): void {
    const { terminal, events } = this;
    const encoder = new TextEncoder();
    terminal.onData((text) => events.onInput(encoder.encode(text)));
    terminal.onBinary((text) => events.onInput(Uint8Array.from(text, (char) => char.charCodeAt(0))));
    terminal.onTitleChange((title) => events.onTitle(boundedTitle(title)));
    terminal.onBell(events.onBell);
    terminal.onResize(({ rows, cols }) => events.onSize(rows, cols));
    terminal.parser.registerOscHandler(CLIPBOARD, (data) => {
      const text = copyRequest(data);
      if (text !== null) events.onCopyRequest(text);
      return true;
    });
    terminal.attachCustomKeyEventHandler((event) => this.passKey(event));
    this.host.addEventListener("paste", (event) => this.paste(event), { capture: true });
  }

  /** True if the terminal handles a key. Ctrl+Shift+V is the browser's own paste. */
  private passKey(event: KeyboardEvent): boolean {
    if (!event.ctrlKey || !event.shiftKey || event.altKey || event.metaKey) return true;
    const key = event.key.toLowerCase();
    if (key !== "c" && key !== "v" && key !== "x") return true;
    if (event.type === "keydown" && key !== "v") {
      event.preventDefault();
      if (key === "x") this.events.onLeave();
      // xterm handles the event with its selection; this needs neither TLS nor a permission.
      else document.execCommand("copy");
    }
    return false;
  }

  private paste(event: ClipboardEvent): void {
    event.preventDefault();
    event.stopPropagation();
    const text = event.clipboardData?.getData("text/plain") ?? "";
    if (text !== "") this.terminal.paste(pasteable(text));
  }
}

function openLink(event: MouseEvent, text: string): void {
  const address = openableLink(text);
  if (address !== null && (event.ctrlKey || event.metaKey)) window.open(address, "_blank", "noopener,noreferrer");
}
