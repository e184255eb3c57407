/** A document that a view asks the server for when it is shown. */
import { type QueryKey, keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { errorText } from "../api";

export interface Loaded<T> {
  /** Null until the first answer; the last one stays while it is asked for again. */
  value: T | null;
  error: string | null;
  reload: () => Promise<void>;
  /** Puts something in its place that is known without asking. */
  replace: (value: T) => void;
}

/**
 * Asks at once, and again whenever `key` names another document or `revision` says that this one may have changed, whose last
 * answer then stays. Views that ask for the same at the same time ask once.
 */
export function useLoaded<T>(key: QueryKey, load: () => Promise<T>, revision: unknown = null): Loaded<T> {
  const queries = useQueryClient();
  const { data, error, refetch } = useQuery({ queryKey: key, queryFn: load, placeholderData: keepPreviousData });
  const reload = useCallback(async () => void (await refetch()), [refetch]);
  const seen = useRef(revision);
  useEffect(() => {
    if (seen.current === revision) return;
    seen.current = revision;
    void refetch();
  }, [revision, refetch]);
  const replace = (value: T) => queries.setQueryData<T>(key, () => value);
  return { value: data ?? null, error: error === null ? null : errorText(error), reload, replace };
}
