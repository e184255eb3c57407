/** Colours for code, loaded when the first code is shown. */
import { useEffect, useState } from "react";

type Highlight = (typeof import("rehype-highlight"))["default"];

let loaded: Highlight | null = null;

/** The plugin once it is there; `wanted` says that there is code to colour. */
export function useHighlight(wanted: boolean): Highlight | null {
  const [highlight, setHighlight] = useState<{ plugin: Highlight } | null>(loaded && { plugin: loaded });
  useEffect(() => {
    if (!wanted || highlight !== null) return;
    let isShown = true;
    import("rehype-highlight").then(
      (module) => {
        loaded = module.default;
        if (isShown) setHighlight({ plugin: module.default });
      },
      // Without it the code is plain, which is no less true.
      () => {},
    );
    return () => {
      isShown = false;
    };
  }, [wanted, highlight]);
  return wanted ? (highlight?.plugin ?? null) : null;
}
