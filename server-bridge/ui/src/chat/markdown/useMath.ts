/** The reader of formulas, loaded when the first text may have one. */
import { useEffect, useState } from "react";

type Reader = (typeof import("remark-math"))["default"];

let loaded: Reader | null = null;

/** The plugin once it is there; `wanted` says that there may be a formula. */
export function useMath(wanted: boolean): Reader | null {
  const [reader, setReader] = useState<{ plugin: Reader } | null>(loaded && { plugin: loaded });
  useEffect(() => {
    if (!wanted || reader !== null) return;
    let isShown = true;
    import("remark-math").then(
      (module) => {
        loaded = module.default;
        if (isShown) setReader({ plugin: module.default });
      },
      // Without it the source stands there, which is no less true.
      () => {},
    );
    return () => {
      isShown = false;
    };
  }, [wanted, reader]);
  return wanted ? (reader?.plugin ?? null) : null;
}
