/** Unsaved text, kept while other files are open, and across a reload. */
import { DRAFTS_CHARS } from "../../limits";
import { type Path, keyOf } from "./path";
import type { LineEnds } from "./text";

export interface Draft {
  text: string;
  /** The SHA-256 of the file that was opened; null for a new file. */
  hash: string | null;
  ends: LineEnds;
}

const KEY = "sandbridge.drafts";

export class Drafts {
  private drafts: Map<string, Draft>;
  private listeners = new Set<() => void>();
  private version = 0;

  constructor(private readonly storage: Pick<Storage, "getItem" | "setItem">) {
    this.drafts = new Map(read(storage));
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** A number that grows with every change. */
  readonly snapshot = (): number => this.version;

  get isEmpty(): boolean {
    return this.drafts.size === 0;
  }

  of(owner: string, place: string, path: Path): Draft | null {
    return this.drafts.get(draftKey(owner, place, path)) ?? null;
  }

  keep(owner: string, place: string, path: Path, draft: Draft | null): void {
    const key = draftKey(owner, place, path);
    if (draft === null) this.drafts.delete(key);
    else this.drafts.set(key, draft);
    this.version += 1;
    this.store();
    for (const listener of this.listeners) listener();
  }

  private store(): void {
    const text = JSON.stringify([...this.drafts]);
    try {
      // A text too large to be stored stays on the page, and the browser asks before the page is left.
      if (text.length <= DRAFTS_CHARS) this.storage.setItem(KEY, text);
    } catch {
      // The same if the browser stores nothing.
    }
  }
}

function draftKey(owner: string, place: string, path: Path): string {
  return JSON.stringify([owner, place, keyOf(path)]);
}

function read(storage: Pick<Storage, "getItem">): [string, Draft][] {
  try {
    return JSON.parse(storage.getItem(KEY) ?? "[]") as [string, Draft][];
  } catch {
    return [];
  }
}
