/** Durations as text. Pure. */
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

/** A duration such as "420 ms", "1.2 s", "3 min 5 s" or "2 h 4 min". */
export function duration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  // Anything longer would be rounded up to "60.0 s".
  if (ms < MINUTE_MS - 50) return `${(ms / SECOND_MS).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND_MS);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(ms / MINUTE_MS);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export type Tone = "running" | "good" | "warn" | "bad";
