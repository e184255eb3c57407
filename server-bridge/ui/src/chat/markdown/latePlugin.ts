/** Plugins of Markdown that are loaded when the first text needs them. */
import { useEffect, useState } from "react";

/** A hook that returns a module's plugin once it is loaded; its argument says whether the text needs it. */
export function latePlugin<Plugin>(load: () => Promise<{ default: Plugin }>) {
  let loaded: { plugin: Plugin } | null = null;
  return function usePlugin(wanted: boolean): Plugin | null {
    const [found, setFound] = useState(loaded);
    useEffect(() => {
      if (!wanted || found !== null) return;
      let isShown = true;
      load().then(
        (module) => {
          loaded = { plugin: module.default };
          if (isShown) setFound(loaded);
        },
        // Without it the text is shown as it was written, which is still correct.
        () => {},
      );
      return () => {
        isShown = false;
      };
    }, [wanted, found]);
    return wanted ? (found?.plugin ?? null) : null;
  };
}

/** Colours for code. */
export const useHighlight = latePlugin(() => import("rehype-highlight"));

/** The reader of formulas. */
export const useMath = latePlugin(() => import("remark-math"));
