import { useSyncExternalStore } from "react";

const SYSTEM = "(prefers-color-scheme: dark)";

/** True if the page is dark, by the user's choice or else the system's setting. */
export function useDark(): boolean {
  return useSyncExternalStore(watchDark, isDark);
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && window.matchMedia(SYSTEM).matches);
}

/** Calls `onChange` when the page turns light or dark; returns a function that stops it. */
export function watchDark(onChange: () => void): () => void {
  const system = window.matchMedia(SYSTEM);
  const chosen = new MutationObserver(onChange);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  system.addEventListener("change", onChange);
  return () => {
    chosen.disconnect();
    system.removeEventListener("change", onChange);
  };
}
