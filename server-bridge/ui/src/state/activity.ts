/** The activity in each chat: running commands and answers, and questions that wait for the user. Pure. */
import type { Message } from "../types";

export type Activity = "running" | "asking";

/** Activities by chat id, then by message id. */
export type Activities = Record<string, Record<number, Activity>>;

function activityOf(message: Message): Activity | null {
  const status = message.exec?.status ?? message.agent?.status;
  if (status === "asking") return "asking";
  return status === "running" || status === "queued" ? "running" : null;
}

/** Records the current state of a message. */
export function track(activities: Activities, message: Message): Activities {
  const known = activities[message.chat_id];
  const now = activityOf(message);
  if ((known?.[message.id] ?? null) === now) return activities;
  const { [message.id]: _, ...others } = known ?? {};
  const next = now === null ? others : { ...others, [message.id]: now };
  const { [message.chat_id]: __, ...chats } = activities;
  return Object.keys(next).length === 0 ? chats : { ...chats, [message.chat_id]: next };
}

/** The activity that a chat shows: a question has precedence over running work. */
export function chatActivity(activities: Activities, chatId: string): Activity | null {
  const all = Object.values(activities[chatId] ?? {});
  if (all.includes("asking")) return "asking";
  return all.length > 0 ? "running" : null;
}

/** A summary of all chats: `running` if anything is running, and the number of chats with a question. */
export function overall(activities: Activities, chatIds: string[]): { running: boolean; asking: number } {
  const chats = chatIds.map((id) => chatActivity(activities, id));
  return { running: chats.includes("running"), asking: chats.filter((activity) => activity === "asking").length };
}
