/** Where a panel works: the active runner by its name, so that a later switch does not move what is open. */
import { AUTOMATIC } from "../state/where";
import { useAppState } from "../state/context";
import type { Runner, Settings } from "../types";

/** The place that "active" means now; null where that is not decided. */
export function activePlace(settings: Settings | null, runners: Runner[]): string | null {
  if (settings === null) return null;
  const active = settings.active_runner;
  if (active !== null && active !== AUTOMATIC) return active;
  if (runners.length > 0) return runners.length === 1 ? (runners[0]?.name ?? null) : null;
  return settings.choices.find((choice) => choice.kind === "docker" && choice.available)?.name ?? null;
}

export function useActivePlace(): string | null {
  const { settings, runners } = useAppState();
  return activePlace(settings, runners);
}
