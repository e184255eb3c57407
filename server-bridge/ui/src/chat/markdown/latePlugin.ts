/** Plugins of Markdown that are loaded when the first text needs them. */
import { useEffect, useState } from "react";

/** Makes a hook that returns a module's plugin once it is loaded; the hook's argument is true if the text needs the plugin. */
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
        // Without the plugin, the text is shown as it was written, which is still correct.
        () => {},
      );
      return () => {
        isShown = false;
      };
    }, [wanted, found]);
    return wanted ? (found?.plugin ?? null) : null;
  };
}

/** The plugin that colours code. */
export const useHighlight = latePlugin(() => import("rehype-highlight"));

/** The plugin that parses formulas. */
export const useMath = latePlugin(() => import("remark-math"));
