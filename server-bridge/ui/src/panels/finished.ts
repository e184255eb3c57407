/** Tells the panels that a command or a tool ended, after which files and tasks may have changed. */
import { useSelected } from "../state/context";
import type { Message } from "../types";

/** A value that changes whenever a command or a tool of the open chat ends. */
export function finishedKey(messages: Message[]): string {
  let count = 0;
  for (const message of messages) if (hasEnded(message)) count += 1;
  return `${messages[0]?.chat_id ?? ""}:${count}`;
}

function hasEnded({ exec, agent }: Message): boolean {
  if (exec !== null) return exec.status !== "running";
  return agent?.kind === "tool" && agent.status !== "running" && agent.status !== "asking";
}

export function useFinishedKey(): string {
  return useSelected(({ messages }) => finishedKey(messages));
}
