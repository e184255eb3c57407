/** The list of what runs and what ran, renewed while it is on screen. */
import { useCallback, useEffect, useState } from "react";
import { errorText } from "../../api";
import { TASKS_REFRESH_MS, TASKS_ROWS_COUNT } from "../../limits";
import { useAppState, useSelected } from "../../state/context";
import { useFinishedKey } from "../finished";
import { type ExecView, execs } from "../requests";

export interface Tasks {
  /** Null until they were read. */
  running: ExecView[] | null;
  /** Those in the background, the last started first; a chat shows its own commands. */
  ended: ExecView[] | null;
  error: string | null;
  reload: () => void;
}

export function useTasks(): Tasks {
  const [found, setFound] = useState<Pick<Tasks, "running" | "ended">>({ running: null, ended: null });
  const [error, setError] = useState<string | null>(null);
  const [asked, setAsked] = useState(0);
  const finished = useFinishedKey();
  const { connection } = useAppState("connection");
  // A new message may be a new command.
  const newest = useSelected(({ messages }) => messages.at(-1)?.id);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | null = null;
    let isWanted = true;
    const look = async () => {
      if (document.visibilityState === "visible") {
        try {
          const [running, newestOnes] = await Promise.all([execs.running(), execs.newest(TASKS_ROWS_COUNT)]);
          if (!isWanted) return;
          setFound({ running, ended: newestOnes.filter(isEndedTask) });
          setError(null);
        } catch (problem) {
          if (isWanted) setError(errorText(problem));
        }
      }
      if (isWanted) timer = setTimeout(() => void look(), TASKS_REFRESH_MS);
    };
    void look();
    return () => {
      isWanted = false;
      if (timer !== null) clearTimeout(timer);
    };
  }, [asked, finished, newest, connection]);
  const reload = useCallback(() => setAsked((count) => count + 1), []);
  return { ...found, error, reload };
}

export function isEndedTask(exec: ExecView): boolean {
  return exec.status !== "running" && exec.detached && exec.terminal !== true;
}
