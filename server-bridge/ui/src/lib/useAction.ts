/** Runs an asynchronous action for a form or a button: `busy` while it runs, `error` if it failed. */
import { useMutation } from "@tanstack/react-query";
import { useCallback } from "react";
import { errorText } from "../api";

export interface Runnable<Arguments extends unknown[]> {
  /** Runs the action, and resolves to true if it succeeded; does nothing while the action is running. */
  run: (...values: Arguments) => Promise<boolean>;
  busy: boolean;
  error: string | null;
  /** The error, for a caller that examines it. */
  problem: Error | null;
}

export function useAction<Arguments extends unknown[]>(work: (...values: Arguments) => Promise<void>): Runnable<Arguments> {
  const { mutateAsync, isPending: busy, error: problem } = useMutation({ mutationFn: (values: Arguments) => work(...values) });
  const run = useCallback(
    async (...values: Arguments) => {
      if (busy) return false;
      return mutateAsync(values).then(() => true, () => false);
    },
    [mutateAsync, busy],
  );
  return { run, busy, error: problem === null ? null : errorText(problem), problem };
}
