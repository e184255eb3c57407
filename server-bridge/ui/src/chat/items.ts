/** The items of the message list, in order. Pure. */
import { isOpen } from "../state/messages";
import type { Pending } from "../state/outbox";
import type { LiveOutput } from "../state/output";
import type { State } from "../state/state";
import { isAway } from "../state/where";
import type { Message, Runner } from "../types";

/** `end` is the reason why an answer ended early; its message is the answer's first, which records the reason. */
export type Item =
  | { key: string; kind: "message"; message: Message }
  | { key: string; kind: "end"; message: Message }
  | { key: string; kind: "pending"; pending: Pending };

/** Messages that have something to show, with each early end after everything its answer did, followed by unsent messages. */
export function itemsOf(messages: Message[], speaking: string, pending: Pending[]): Item[] {
  const items: Item[] = [];
  const speakers = new Set(speaking.split(" "));
  let ended: Message | null = null;
  const addEnd = () => {
    if (ended !== null) items.push({ key: `end ${ended.id}`, kind: "end", message: ended });
    ended = null;
  };
  for (const message of messages) {
    if (message.role === "user") addEnd();
    if (isShown(message, speakers)) items.push({ key: String(message.id), kind: "message", message });
    if (endedEarly(message)) ended = message;
  }
  addEnd();
  for (const item of pending) items.push({ key: item.send_id, kind: "pending", pending: item });
  return items;
}

/**
 * The ids of running replies with content, separated by spaces: a string, which does not change when more words
 * arrive.
 */
export function speakingOf({ messages, live }: Pick<State, "messages" | "live">): string {
  const speaking = messages.filter((message) => isOpen(message) && message.agent?.kind === "reply" && saysSomething(live[message.id]));
  return speaking.map(({ id }) => id).join(" ");
}

function saysSomething(output: LiveOutput | undefined): boolean {
  return output?.segments.some(({ channel, text }) => (channel === "text" || channel === "reasoning") && text !== "") ?? false;
}

function isShown(message: Message, speakers: Set<string>): boolean {
  const { agent, text } = message;
  if (agent?.kind !== "reply") return true;
  const isQuiet = text === "" && !agent.reasoning;
  if (!isQuiet) return true;
  // `TurnBar` shows the state of a running turn.
  return speakers.has(String(message.id));
}

function endedEarly({ agent }: Message): boolean {
  return agent?.kind === "reply" && (agent.error !== undefined || agent.status === "cancelled" || agent.status === "interrupted");
}

/** The turn or command that is running at the end of a chat, if any. */
export interface UnderWay {
  kind: "queued" | "running" | "background" | "asking" | "command";
  since: number;
  /** The message with the question that waits for the user; null if there is none. */
  asking: Message | null;
  /** The offline machine that the turn waits for; null if it waits for none. */
  away: string | null;
}

export function underWay(messages: Message[], runners: Runner[]): UnderWay | null {
  const all = messages.filter(isOpen);
  const front = all.filter((message) => !isInBackground(message));
  const open = front.length > 0 ? front : all;
  const asking = open.find((message) => message.agent?.status === "asking") ?? null;
  const turn = open.find((message) => message.agent?.kind === "reply" && message.agent.status === "running");
  const first = turn ?? open.find((message) => message.agent != null) ?? open[0];
  if (first === undefined) return null;
  const away = open.map(placeOf).find((place) => isAway(runners, place)) ?? null;
  const rest = { since: first.created_at, asking, away };
  if (asking !== null) return { kind: "asking", ...rest };
  if (first.exec !== null) return { kind: "command", ...rest };
  if (front.length === 0) return { kind: "background", ...rest };
  return { kind: turn === undefined && first.agent?.status === "queued" ? "queued" : "running", ...rest };
}

/** True for a call of a sub-agent that runs in the background: the chat's answer does not wait for it. */
function isInBackground({ agent }: Message): boolean {
  return agent?.kind === "tool" && agent.sub_agent?.background === true;
}

/** The place where a command or a tool call runs; null if it runs on no machine. */
function placeOf({ exec, agent }: Message): string | null {
  return exec?.runner ?? (agent?.kind === "tool" ? agent.place : null);
}

/** The to-do list as last written; null if there is none or everything is done. */
export function newestTodos(messages: Message[]) {
  const last = messages.findLast((message) => message.undone !== true && message.agent?.kind === "tool" && message.agent.data?.kind === "todos");
  const items = last?.agent?.kind === "tool" && last.agent.data?.kind === "todos" ? last.agent.data.items : [];
  return items.some((item) => item.status !== "completed") ? items : null;
}

/** True if the last message to the model got a notice instead of an answer. */
export function isUnanswered(messages: Message[]): boolean {
  const [asked, answer] = messages.filter((message) => message.undone !== true).slice(-2);
  return answer?.role === "notice" && asked?.role === "user" && !/^\s*[!/]/.test(asked.text);
}

/** The message that a reply answers. */
export function askedWith(messages: Message[], reply: Message): Message | undefined {
  return messages.findLast((message) => message.id < reply.id && message.role === "user");
}

/** The index of the first item, counted so that inserting items before the others does not change their indexes. */
export interface Position {
  firstIndex: number;
  firstKey: string | null;
}

/** Far from zero, so that the index never becomes negative: no chat has so many messages. */
export const FIRST_INDEX = 10_000_000;

export function moved(before: Position, items: Item[]): Position {
  const firstKey = items[0]?.key ?? null;
  if (firstKey === before.firstKey || before.firstKey === null) return { ...before, firstKey };
  const put = items.findIndex((item) => item.key === before.firstKey);
  return { firstIndex: put === -1 ? FIRST_INDEX : before.firstIndex - put, firstKey };
}
