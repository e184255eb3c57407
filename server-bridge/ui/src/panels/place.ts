/** The place that a panel works on: the active runner, by name, so that switching runners does not affect open views. */
import { where } from "../state/where";
import { useAppState } from "../state/context";
import type { Runner, Settings } from "../types";

/** The place that "active" currently means; null if that is not decided. */
export function activePlace(settings: Settings | null, runners: Runner[]): string | null {
  return settings === null ? null : where(settings, runners, null).place;
}

/** The active place if commands can run there now. */
export function useReadyPlace(): string | null {
  const { settings, runners } = useAppState("settings", "runners");
  if (settings === null) return null;
  const { place, state } = where(settings, runners, null);
  return state === "online" ? place : null;
}

export function useActivePlace(): string | null {
  const { settings, runners } = useAppState("settings", "runners");
  return activePlace(settings, runners);
}
