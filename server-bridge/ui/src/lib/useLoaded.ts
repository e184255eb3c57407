/** What a view asks the server for when it is shown. */
import { useCallback, useEffect, useRef, useState } from "react";
import { errorText } from "../api";

export interface Loaded<T> {
  /** Null until the first answer; the last one stays while it is asked for again. */
  value: T | null;
  error: string | null;
  reload: () => Promise<void>;
  /** Puts something in its place that is known without asking. */
  replace: (value: T) => void;
}

/** Asks at once, and again whenever `key` is another; of answers that overtake each other the last question's wins. */
export function useLoaded<T>(load: () => Promise<T>, key: unknown = null): Loaded<T> {
  const [value, setValue] = useState<T | null>(null);
  const [error, setError] = useState<string | null>(null);
  const latest = useRef(load);
  const asked = useRef(0);
  latest.current = load;
  const reload = useCallback(async () => {
    const mine = ++asked.current;
    try {
      const answer = await latest.current();
      if (mine !== asked.current) return;
      setValue(() => answer);
      setError(null);
    } catch (problem) {
      if (mine === asked.current) setError(errorText(problem));
    }
  }, []);
  useEffect(() => {
    void reload();
    return () => {
      asked.current += 1;
    };
  }, [reload, key]);
  const replace = useCallback((known: T) => setValue(() => known), []);
  return { value, error, reload, replace };
}
