/** Data that a view loads from the server when it is shown. */
import { type QueryKey, keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef } from "react";
import { errorText } from "../api";

export interface Loaded<T> {
  /** Null until the first answer; the last answer stays while the data is loaded again. */
  value: T | null;
  error: string | null;
  reload: () => Promise<void>;
  /** Replaces the data with a value that is already known. */
  replace: (value: T) => void;
}

/**
 * Loads at once, and again whenever `key` names other data or a new `revision` indicates that this data may have changed, in which case
 * the last answer stays meanwhile. Simultaneous requests of several views for the same document are one request.
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
