import type { Where } from "../state/where";

const WORDS: Record<Where["state"], string> = { online: "Online", offline: "Offline", unclear: "Not decided" };

/** A coloured dot; the word behind it is for screen readers and on hover. */
export function StateDot({ state }: { state: Where["state"] }) {
  return <span className={`dot ${state}`} role="img" aria-label={WORDS[state]} title={WORDS[state]} />;
}
