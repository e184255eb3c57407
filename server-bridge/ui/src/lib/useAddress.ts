/** The fragment of the page's URL, which names the open view. */
import { useSyncExternalStore } from "react";
import { watchAddress } from "./location";

export function useAddress(): string {
  return useSyncExternalStore(watchAddress, () => window.location.hash);
}
