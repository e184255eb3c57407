/** The list of running and ended tasks, updated while it is on screen. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { errorText } from "../../api";
import { TASKS_REFRESH_MS, TASKS_ROWS_COUNT } from "../../limits";
import { useAppState, useSelected } from "../../state/context";
import { useFinishedKey } from "../finished";
import { type ExecView, execs } from "../requests";

export interface Tasks {
  /** All running tasks; null until they are loaded. */
  running: ExecView[] | null;
  /** Ended background tasks, the last started first; a chat shows its own commands. */
  ended: ExecView[] | null;
  error: string | null;
  reload: () => void;
}

export function useTasks(): Tasks {
  const { data, error, refetch } = useQuery({
    queryKey: ["tasks"],
    queryFn: async () => {
      const [running, newest] = await Promise.all([execs.running(), execs.newest(TASKS_ROWS_COUNT)]);
      return { running, ended: newest.filter(isEndedTask) };
    },
    // Paused while the page is hidden.
    refetchInterval: TASKS_REFRESH_MS,
  });
  const finished = useFinishedKey();
  const { connection } = useAppState("connection");
  // A new message may mean a new command.
  const newest = useSelected(({ messages }) => messages.at(-1)?.id);
  const news = `${finished} ${newest ?? ""} ${connection}`;
  const seen = useRef(news);
  useEffect(() => {
    if (seen.current === news) return;
    seen.current = news;
    void refetch();
  }, [news, refetch]);
  return { running: data?.running ?? null, ended: data?.ended ?? null, error: error === null ? null : errorText(error), reload: () => void refetch() };
}

export function isEndedTask(exec: ExecView): boolean {
  return exec.status !== "running" && exec.detached && !exec.in_chat && exec.terminal !== true;
}
