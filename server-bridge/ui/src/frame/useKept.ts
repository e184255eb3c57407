/** A display setting of this page, kept in the browser. */
import { useCallback, useState } from "react";

export function useKept(key: string, initial: string | null): [string | null, (value: string | null) => void] {
  const [value, setValue] = useState(() => window.localStorage.getItem(key) ?? initial);
  const keep = useCallback(
    (next: string | null) => {
      if (next === null) window.localStorage.removeItem(key);
      else window.localStorage.setItem(key, next);
      setValue(next);
    },
    [key],
  );
  return [value, keep];
}
