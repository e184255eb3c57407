/** Groups chats by day. Pure. */
const DAY_MS = 86_400_000;

export type Day = { kind: "today" | "yesterday" | "week" } | { kind: "month"; at: number };

/** The group of a time in the list: today, yesterday, the last week, or a month. */
export function dayOf(at: number, now: number): Day {
  const days = Math.round((midnight(now) - midnight(at)) / DAY_MS);
  if (days <= 0) return { kind: "today" };
  if (days === 1) return { kind: "yesterday" };
  if (days < 7) return { kind: "week" };
  const date = new Date(at);
  return { kind: "month", at: new Date(date.getFullYear(), date.getMonth(), 1).getTime() };
}

export function isSameDay(a: Day, b: Day): boolean {
  return a.kind === "month" && b.kind === "month" ? a.at === b.at : a.kind === b.kind;
}

function midnight(at: number): number {
  return new Date(at).setHours(0, 0, 0, 0);
}
