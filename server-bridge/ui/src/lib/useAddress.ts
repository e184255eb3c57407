/** The address's fragment, which says what is open. */
import { useSyncExternalStore } from "react";
import { watchAddress } from "./location";

export function useAddress(): string {
  return useSyncExternalStore(watchAddress, () => window.location.hash);
}
