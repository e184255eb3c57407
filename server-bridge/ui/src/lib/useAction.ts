/** Runs an asynchronous action for a form or a button: busy while it runs, its error afterwards. */
import { useState } from "react";
import { errorText } from "../api";

export interface Runnable<Arguments extends unknown[]> {
  /** Resolves to whether it worked; does nothing while it already runs. */
  run: (...values: Arguments) => Promise<boolean>;
  busy: boolean;
  error: string | null;
}

export function useAction<Arguments extends unknown[]>(work: (...values: Arguments) => Promise<void>): Runnable<Arguments> {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const run = async (...values: Arguments) => {
    if (busy) return false;
    setBusy(true);
    setError(null);
    try {
      await work(...values);
      return true;
    } catch (problem) {
      setError(errorText(problem));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { run, busy, error };
}
