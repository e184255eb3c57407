/** Delivers events together, in order: the first at once, those that follow closely a moment later. */
import { EVENT_BATCH_MS } from "../limits";
import type { ServerEvent } from "../types";

const OVERVIEW: ServerEvent["type"][] = ["chat", "chat_removed", "runner", "runner_removed", "settings"];

export class EventBatch {
  private waiting: ServerEvent[] = [];
  private timer: ReturnType<typeof setTimeout> | null = null;
  private recordings = new Set<ServerEvent[]>();
  private deliveredAt = 0;

  constructor(private readonly deliver: (events: ServerEvent[]) => void) {}

  add(event: ServerEvent): void {
    this.waiting.push(event);
    if (OVERVIEW.includes(event.type)) for (const recording of this.recordings) recording.push(event);
    this.timer ??= setTimeout(() => this.flush(), Math.max(0, this.deliveredAt + EVENT_BATCH_MS - Date.now()));
  }

  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    const events = this.waiting;
    this.waiting = [];
    if (events.length === 0) return;
    this.deliver(events);
    // Counted from the end of the processing, so that the page has the whole interval for other work.
    this.deliveredAt = Date.now();
  }

  /**
   * Delivers the events about the overview that arrive during `reload` again after it, because its answer may be older. Applying
   * such an event twice changes nothing.
   */
  async during(reload: () => Promise<void>): Promise<void> {
    const recording: ServerEvent[] = [];
    this.recordings.add(recording);
    await reload();
    this.recordings.delete(recording);
    this.flush();
    if (recording.length > 0) this.deliver(recording);
  }

  /** Drops the waiting events. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.waiting = [];
    this.recordings.clear();
  }
}
