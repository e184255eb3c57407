/** Completions for the word at the caret, and the selected one. */
import { useEffect, useState } from "react";
import { COMPLETION_WAIT_MS, COMPLETIONS_COUNT } from "../../limits";
import { useActions } from "../../state/context";
import type { CommandLine } from "../../types";
import { type Completion, matchingCommands, matchingPaths, matchingValues, type Wanted, wantedAt } from "./completion";

export interface Completions {
  wanted: Wanted | null;
  found: Completion[];
  marked: number;
  mark: (at: number) => void;
  /** Closes the list for this word. */
  dismiss: () => void;
}

export function useCompletion(text: string, caret: number): Completions {
  const actions = useActions();
  const [commands, setCommands] = useState<CommandLine[] | null>(null);
  const [answer, setAnswer] = useState<{ asked: string; found: Completion[] } | null>(null);
  const [chosen, setMark] = useState({ asked: "", at: 0 });
  const [dismissed, setDismissed] = useState<string | null>(null);
  const wanted = wantedAt(text, caret);
  const word = wanted && `${wanted.kind} ${wanted.start}`;
  const [kind, prefix] = [wanted?.kind, wanted?.prefix ?? ""];
  const isDismissed = word !== null && word === dismissed;

  // Leaving the word forgets the dismissal, so that it can be completed again later.
  if (word === null && dismissed !== null) setDismissed(null);
  const asked = `${kind} ${prefix}`;

  useEffect(() => {
    if (kind === undefined || isDismissed) return;
    let isWanted = true;
    const show = (completions: Completion[]) => {
      if (isWanted) setAnswer({ asked: `${kind} ${prefix}`, found: completions.slice(0, COMPLETIONS_COUNT) });
    };
    // Failures are not shown: the user simply keeps typing.
    const nothing = () => show([]);
    if (kind === "command") {
      if (commands !== null) show(matchingCommands(commands, prefix));
      else actions.commands().then(setCommands, nothing);
      return () => {
        isWanted = false;
      };
    }
    const ask = () =>
      kind === "path" ? actions.completePath(prefix).then(matchingPaths) : actions.completeArgument(prefix).then(matchingValues);
    const timer = setTimeout(() => void ask().then(show, nothing), COMPLETION_WAIT_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [actions, commands, kind, prefix, isDismissed]);

  // The last answer stays until the next answer of the same kind arrives.
  const found = wanted === null || isDismissed || !answer?.asked.startsWith(`${kind} `) ? [] : answer.found;
  const marked = chosen.asked === asked ? chosen.at : 0;
  return { wanted, found, marked, mark: (at) => setMark({ asked, at }), dismiss: () => setDismissed(word) };
}
