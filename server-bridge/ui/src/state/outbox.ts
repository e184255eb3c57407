/**
 * Messages that were sent and are not acknowledged yet. Each message has its own id, by which the server recognizes it: it is sent
 * until an answer arrives, across a lost connection and a reload, and its effect happens only once.
 *
 * sending ──answer──► gone
 * ▲ └──no answer──► waiting ──the connection is back, a while, "retry"──► sending
 * └─────"retry"──── refused ◄──the server says no
 */
import { ApiError, errorText } from "../api";
import { randomId } from "../lib/randomId";
import { SEND_AGAIN_MS } from "../limits";
import type { Message, SendResult } from "../types";

export interface Pending {
  send_id: string;
  /** Null if the message creates a chat. */
  chat_id: string | null;
  text: string;
  attachments: string[];
  /** The time of sending, in Unix milliseconds. */
  created_at: number;
  /** The newest message known at that time. */
  after_id: number;
  status: "sending" | "waiting" | "refused";
  error: string | null;
}

/** The page's view of the open chat. */
interface Shown {
  open_chat_id: string | null;
  messages: Message[];
  messages_loaded: boolean;
}

export interface OutboxOptions {
  storage: Pick<Storage, "getItem" | "setItem" | "removeItem" | "key" | "length">;
  startChat: () => Promise<string>;
  send: (pending: Pending, chatId: string) => Promise<SendResult>;
  onChange: (outbox: Pending[]) => void;
  onSent: (pending: Pending, chatId: string, result: SendResult) => void;
}

/** The result of one attempt; `failed` concerns only its chat, `offline` and `signed_out` hold up all chats. */
type Outcome = "done" | "failed" | "offline" | "signed_out";

const PREFIX = "sandbridge.outbox.";

export class Outbox {
  private items: Pending[] = [];
  private user: string | null = null;
  private flushing = false;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(private readonly options: OutboxOptions) {}

  /** Takes over messages that an earlier page of this user could not send. */
  load(user: string): void {
    if (user !== this.user) {
      this.user = user;
      const kept = this.keys().map((key) => parsed(this.options.storage.getItem(key)));
      this.items = kept.filter((item) => item !== null).sort((a, b) => a.created_at - b.created_at);
      this.items = this.items.map((item) => (item.status === "refused" ? item : { ...item, status: "waiting" }));
    }
    this.changed();
    this.flush();
  }

  add(chatId: string | null, now: Shown, text: string, attachments: string[]): void {
    const known = chatId === null || (chatId === now.open_chat_id && now.messages_loaded);
    this.items.push({
      send_id: randomId(),
      chat_id: chatId,
      text,
      attachments,
      created_at: Date.now(),
      after_id: known ? (now.messages.at(-1)?.id ?? 0) : Number.MAX_SAFE_INTEGER,
      status: "sending",
      error: null,
    });
    this.keep(this.items.length - 1);
    this.flush();
  }

  retry(sendId: string): void {
    this.change(sendId, { status: "waiting", error: null });
    this.flush();
  }

  discard(sendId: string): void {
    this.items = this.items.filter((item) => item.send_id !== sendId);
    this.options.storage.removeItem(this.key(sendId));
    this.changed();
  }

  /** Sends all waiting messages, one after the other. */
  flush(): void {
    if (this.flushing) return;
    this.stop();
    void this.sendAll();
  }

  /** Stops all automatic attempts. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  /** Deletes everything, for the next user of this browser. */
  clear(): void {
    for (const key of this.keys()) this.options.storage.removeItem(key);
    this.stop();
    [this.items, this.user] = [[], null];
  }

  private async sendAll(): Promise<void> {
    this.flushing = true;
    let outcome: Outcome = "done";
    // Chats for which the server failed: their later messages wait, to keep the order.
    const held = new Set<string | null>();
    try {
      while (outcome === "done" || outcome === "failed") {
        const next = this.items.find((item) => item.status !== "refused" && !held.has(item.chat_id));
        if (next === undefined) break;
        outcome = await this.sendOne(next);
        if (outcome === "failed") held.add(this.items.find((item) => item.send_id === next.send_id)?.chat_id ?? next.chat_id);
      }
    } finally {
      this.flushing = false;
    }
    const waits = this.items.some((item) => item.status === "waiting");
    if (waits && outcome !== "signed_out") this.timer = setTimeout(() => this.flush(), SEND_AGAIN_MS);
  }

  private async sendOne(item: Pending): Promise<Outcome> {
    const { send_id } = item;
    this.change(send_id, { status: "sending", error: null });
    try {
      let chatId = item.chat_id;
      if (chatId === null) {
        chatId = await this.options.startChat();
        // Later messages without a chat belong in the same chat.
        for (const other of this.items) if (other.chat_id === null) this.change(other.send_id, { chat_id: chatId });
      }
      const result = await this.options.send(item, chatId);
      this.discard(send_id);
      this.options.onSent(item, chatId, result);
      return "done";
    } catch (error) {
      if (!isPassing(error)) {
        this.change(send_id, { status: "refused", error: errorText(error) });
        return "done";
      }
      this.change(send_id, { status: "waiting", error: errorText(error) });
      return error.status === 0 ? "offline" : error.status === 401 ? "signed_out" : "failed";
    }
  }

  private change(sendId: string, change: Partial<Pending>): void {
    const at = this.items.findIndex((item) => item.send_id === sendId);
    const item = this.items[at];
    if (item === undefined) return;
    this.items = this.items.with(at, { ...item, ...change });
    this.keep(at);
  }

  private keep(at: number): void {
    const item = this.items[at];
    try {
      if (item !== undefined) this.options.storage.setItem(this.key(item.send_id), JSON.stringify(item));
    } catch {
      // If the browser's storage is full, the message is kept only as long as this page.
    }
    this.changed();
  }

  private changed(): void {
    this.options.onChange([...this.items]);
  }

  private key(sendId: string): string {
    return `${PREFIX}${this.user ?? ""}.${sendId}`;
  }

  private keys(): string[] {
    const { storage } = this.options;
    const all = Array.from({ length: storage.length }, (_, at) => storage.key(at) ?? "");
    return all.filter((key) => key.startsWith(this.key("")));
  }
}

/** The pending messages of a chat that are not in the chat yet: an event may bring a message before the response to its request. */
export function unsent(outbox: Pending[], chatId: string | null, messages: Message[]): Pending[] {
  const taken = new Set<number>();
  return outbox.filter((item) => {
    if (item.chat_id !== chatId) return false;
    if (item.status === "refused") return true;
    const shown = messages.findLast(
      (message) => message.role === "user" && message.id > item.after_id && !taken.has(message.id) && message.text.startsWith(item.text.trim()),
    );
    if (shown !== undefined) taken.add(shown.id);
    return shown === undefined;
  });
}

/** True if the same request may work later. An ended session is such a case: the user signs in again and continues. */
function isPassing(error: unknown): error is ApiError {
  if (!(error instanceof ApiError)) return false;
  return error.status === 0 || error.status >= 500 || error.status === 401;
}

function parsed(text: string | null): Pending | null {
  try {
    const item = JSON.parse(text ?? "null") as Pending | null;
    return typeof item?.send_id === "string" && typeof item.text === "string" && Array.isArray(item.attachments) ? item : null;
  } catch {
    return null;
  }
}
