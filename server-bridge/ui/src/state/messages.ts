/** The ordered list of one chat's messages, and the live output that belongs to them. Pure. */
import { LIVE_COMMANDS_COUNT } from "../limits";
import type { Channel, Message, MessagePage } from "../types";
import { appendOutput, emptyOutput, type LiveOutput, markGap, saysAllOf } from "./output";

/** Live output by message id; it may come before its message is known. */
export type LiveOutputs = Record<number, LiveOutput>;

export function isRunning(message: Message): boolean {
  const status = message.exec?.status ?? message.agent?.status;
  return status === "running" || status === "queued";
}

/** Puts a message in its place by id. An answer that was overtaken by an event never makes a finished command run again. */
export function upsertMessage(messages: Message[], message: Message): Message[] {
  const at = messages.findIndex((known) => known.id >= message.id);
  const known = messages[at];
  if (known === undefined) return [...messages, message];
  if (known.id !== message.id) return messages.toSpliced(at, 0, message);
  if (isRunning(message) && !isRunning(known)) return messages;
  return messages.with(at, message);
}

export function upsertMessages(messages: Message[], more: Message[]): Message[] {
  return more.reduce(upsertMessage, messages);
}

/**
 * Takes the newest page after a reload. Messages before it stay only if they surely join on to it: after a long time
 * without a connection there may be a hole between, which "earlier messages" fills.
 */
export function joinNewest(known: Message[], page: MessagePage): { messages: Message[]; joined: boolean } {
  const oldest = page.messages[0];
  if (oldest === undefined) return { messages: known, joined: true };
  const joined = known.some((message) => message.id === oldest.id);
  const kept = joined ? known : known.filter((message) => message.id > oldest.id);
  return { messages: upsertMessages(kept, page.messages), joined };
}

/** Output that arrived for a command. That of a finished one is late: its message holds the whole. */
export function addOutput(
  live: LiveOutputs,
  messages: Message[],
  output: { chat_id: string; message_id: number; channel: Channel; text: string },
): LiveOutputs {
  const message = messages.find((known) => known.id === output.message_id);
  if (message !== undefined && !isRunning(message)) return live;
  const buffer = live[output.message_id] ?? emptyOutput(output.chat_id);
  return evictOldest({ ...live, [output.message_id]: appendOutput(buffer, output.channel, output.text) });
}

/**
 * Lets messages speak for their output. Of a running command's stored text and its live buffer the one that knows more
 * wins; a finished command's text wins unless the buffer says the same with the channels told apart.
 */
export function settleOutputs(live: LiveOutputs, messages: Message[]): LiveOutputs {
  let next = live;
  for (const message of messages) {
    const buffer = next[message.id];
    if (isRunning(message) && message.agent?.kind === "reply") {
      // What it says of itself is all there is: an attempt that failed is void.
      const { chat_id, text } = message;
      if (buffer !== undefined || text !== "") next = { ...next, [message.id]: appendOutput(emptyOutput(chat_id), "text", text) };
    } else if (isRunning(message)) {
      if (message.text.length <= (buffer?.received_chars ?? 0)) continue;
      next = { ...next, [message.id]: appendOutput(emptyOutput(message.chat_id), "stdout", message.text) };
    } else if (buffer !== undefined && !saysAllOf(buffer, message.text)) {
      next = without(next, (id) => id === message.id);
    }
  }
  return evictOldest(next);
}

/** After a lost connection every running command may lack output. */
export function markGaps(live: LiveOutputs): LiveOutputs {
  return Object.fromEntries(Object.entries(live).map(([id, output]) => [id, markGap(output)]));
}

/** Drops the buffers for which `gone` says so. */
export function without(live: LiveOutputs, gone: (id: number, output: LiveOutput) => boolean): LiveOutputs {
  return Object.fromEntries(Object.entries(live).filter(([id, output]) => !gone(Number(id), output)));
}

function evictOldest(live: LiveOutputs): LiveOutputs {
  const ids = Object.keys(live).map(Number);
  if (ids.length <= LIVE_COMMANDS_COUNT) return live;
  const oldest = Math.min(...ids);
  return without(live, (id) => id === oldest);
}
