import { useEffect, useEffectEvent } from "react";
import { type Shortcut, shortcutOf } from "./shortcuts";

/** Runs the pressed shortcut, unless a dialog is open, because the page below a dialog is inactive. */
export function useShortcuts(run: (shortcut: Shortcut) => void): void {
  const onShortcut = useEffectEvent(run);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const target = event.target instanceof HTMLElement ? event.target : document.body;
      // A terminal gets every key.
      if (target.closest(".xterm") !== null) return;
      const shortcut = shortcutOf(event, target.isContentEditable || target.matches("input, textarea, select"));
      if (shortcut === null) return;
      if (shortcut !== "palette" && document.querySelector("[role=dialog], [role=alertdialog], [role=menu]") !== null) return;
      event.preventDefault();
      onShortcut(shortcut);
    };
    document.addEventListener("keydown", onKeyDown);
    return () => document.removeEventListener("keydown", onKeyDown);
  }, []);
}
