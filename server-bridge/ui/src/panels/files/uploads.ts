/** Uploads of this page, a few at a time. They continue while the panel is closed. */
import { ApiError, errorText } from "../../api";
import { UPLOADS_PARALLEL_COUNT } from "../../limits";
import type { Path } from "./path";
import { type Upload, upload } from "./requests";

export interface UploadView {
  id: number;
  place: string;
  path: Path;
  size: number;
  sent: number;
  state: "waiting" | "running" | "done" | "failed" | "cancelled";
  error: string | null;
}

interface Job {
  view: UploadView;
  content: Blob;
  running: Upload | null;
}

export class Uploads {
  private jobs: Job[] = [];
  private nextId = 1;
  private listeners = new Set<() => void>();
  private current: UploadView[] = [];

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): UploadView[] => this.current;

  constructor(private readonly send: typeof upload = upload) {}

  add(place: string, files: { path: Path; content: Blob }[]): void {
    for (const { path, content } of files) {
      const view: UploadView = { id: this.nextId, place, path, size: content.size, sent: 0, state: "waiting", error: null };
      this.jobs.push({ view, content, running: null });
      this.nextId += 1;
    }
    this.publish();
    this.startNext();
  }

  cancel(id: number): void {
    const job = this.jobs.find((candidate) => candidate.view.id === id);
    if (job?.view.state === "waiting") this.change(job, { state: "cancelled" });
    else job?.running?.cancel();
  }

  cancelAll(): void {
    for (const { view } of [...this.jobs]) this.cancel(view.id);
  }

  /** Sends a failed or cancelled upload again. */
  retry(id: number): void {
    const job = this.jobs.find((candidate) => candidate.view.id === id);
    if (job === undefined) return;
    this.change(job, { state: "waiting", sent: 0, error: null });
    this.startNext();
  }

  /** Removes ended uploads from the list. */
  clear(): void {
    this.jobs = this.jobs.filter(({ view }) => view.state === "waiting" || view.state === "running");
    this.publish();
  }

  private startNext(): void {
    const isRunning = ({ view }: Job) => view.state === "running";
    while (this.jobs.filter(isRunning).length < UPLOADS_PARALLEL_COUNT) {
      const job = this.jobs.find(({ view }) => view.state === "waiting");
      if (job === undefined) return;
      void this.run(job);
    }
  }

  private async run(job: Job): Promise<void> {
    const { place, path } = job.view;
    this.change(job, { state: "running" });
    job.running = this.send(place, path, job.content, (sent) => this.change(job, { sent }));
    try {
      await job.running.done;
      this.change(job, { state: "done", sent: job.view.size });
    } catch (error) {
      const isCancelled = error instanceof ApiError && error.kind === "cancelled";
      this.change(job, isCancelled ? { state: "cancelled" } : { state: "failed", error: errorText(error) });
    }
    job.running = null;
    this.startNext();
  }

  private change(job: Job, change: Partial<UploadView>): void {
    job.view = { ...job.view, ...change };
    this.publish();
  }

  private publish(): void {
    this.current = this.jobs.map((job) => job.view);
    for (const listener of this.listeners) listener();
  }
}

export const uploads = new Uploads();
