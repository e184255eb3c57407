/** Completion of `@handle` at the caret. Pure. */

/** The handle that is being written at the caret: from `start`, which is its `@`. */
export interface Mention {
  prefix: string;
  start: number;
}

export function mentionAt(text: string, caret: number): Mention | null {
  const found = /(?:^|[\s(（，。、])@([\p{L}\p{N}_-]*)$/u.exec(text.slice(0, caret));
  return found === null ? null : { prefix: found[1] ?? "", start: caret - (found[1] ?? "").length - 1 };
}

/** The handles that begin with the prefix, in any case. */
export function matching(handles: string[], prefix: string): string[] {
  const wanted = prefix.toLowerCase();
  return handles.filter((handle) => handle.toLowerCase().startsWith(wanted));
}
