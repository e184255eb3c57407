/** The ordered list of one chat's messages, and the live output that belongs to them. Pure. */
import { LIVE_COMMANDS_COUNT } from "../limits";
import type { Message, MessagePage, Piece } from "../types";
import { addPiece, appendOutput, emptyOutput, type LiveOutput, loadPieces, markStale, restart, saysAllOf } from "./output";

/** Live output by message id; output may arrive before its message is known. */
export type LiveOutputs = Record<number, LiveOutput>;

export function isRunning(message: Message): boolean {
  const status = message.exec?.status ?? message.agent?.status;
  return status === "running" || status === "queued";
}

/** True if a message may still grow. */
export function isOpen(message: Message): boolean {
  return isRunning(message) || message.agent?.status === "asking";
}

/** The index of a message with this id, or the index for inserting it. */
export function placeOf(messages: Message[], id: number): number {
  let [low, high] = [0, messages.length];
  // Changes are nearly always at the end.
  if ((messages.at(-1)?.id ?? -1) < id) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((messages[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function findMessage(messages: Message[], id: number): Message | undefined {
  const found = messages[placeOf(messages, id)];
  return found?.id === id ? found : undefined;
}

/** Inserts a message by its id. */
export function upsertMessage(messages: Message[], message: Message): Message[] {
  const at = placeOf(messages, message.id);
  return messages[at]?.id === message.id ? messages.with(at, message) : messages.toSpliced(at, 0, message);
}

/** Adds messages from a response, except known ones, for which events have brought newer data. */
export function addUnknown(messages: Message[], more: Message[]): Message[] {
  const unknown = more.filter((message) => findMessage(messages, message.id) === undefined);
  if (unknown.length === 0) return messages;
  return [...messages, ...unknown].sort((a, b) => a.id - b.id);
}

/**
 * Takes the newest page after a reload, except for messages that an event has brought since the request. Earlier messages stay only
 * if they certainly adjoin the page: after a long time without a connection there may be a gap, which loading earlier messages
 * fills.
 */
export function joinNewest(known: Message[], page: MessagePage, reported: ReadonlySet<number>): { messages: Message[]; joined: boolean } {
  const oldest = page.messages[0];
  if (oldest === undefined) return { messages: known, joined: true };
  const joined = known.some((message) => message.id === oldest.id);
  const kept = joined ? known : known.filter((message) => message.id > oldest.id);
  const newer = page.messages.filter((message) => !reported.has(message.id) || findMessage(kept, message.id) === undefined);
  const replaced = new Set(newer.map((message) => message.id));
  const messages = [...kept.filter((message) => !replaced.has(message.id)), ...newer].sort((a, b) => a.id - b.id);
  return { messages, joined };
}

/** Adds output that arrived for a command. Output for a finished command is late and ignored, because its message has all of it. */
export function addOutput(live: LiveOutputs, messages: Message[], output: Piece & { chat_id: string; message_id: number }): LiveOutputs {
  const message = findMessage(messages, output.message_id);
  if (message !== undefined && !isOpen(message)) return live;
  const buffer = live[output.message_id] ?? emptyOutput(output.chat_id);
  return evictOldest({ ...live, [output.message_id]: addPiece(buffer, output) });
}

/**
 * Lets a message from an event replace its live output. For a running command, the more complete of the stored text and the
 * live buffer wins; a finished command's text wins unless the buffer has the same text with the channels separated.
 */
export function settleOutput(live: LiveOutputs, message: Message): LiveOutputs {
  const buffer = live[message.id];
  const { chat_id, text } = message;
  if (!isOpen(message)) {
    const stays = buffer === undefined || (message.agent?.kind !== "reply" && saysAllOf(buffer, text));
    return stays ? live : without(live, (id) => id === message.id);
  }
  // The text in an answer's message is complete: live output of a failed attempt is void.
  const isVoid = message.agent?.kind === "reply" && (buffer !== undefined || text !== "");
  if (!isVoid && text.length <= (buffer?.received_chars ?? 0)) return live;
  const channel = message.agent?.kind === "reply" ? "text" : "stdout";
  return evictOldest({ ...live, [message.id]: restart(buffer, chat_id, channel, text) });
}

/** The same for messages of a page, which include their live output so far. */
export function loadOutputs(live: LiveOutputs, messages: Message[]): LiveOutputs {
  return messages.reduce((outputs, message) => {
    const buffer = outputs[message.id];
    if (!isOpen(message)) return buffer === undefined ? outputs : settleOutput(outputs, message);
    const { chat_id, text, live: pieces = [], agent } = message;
    if (agent?.kind === "reply" && text !== "") {
      // The message contains the answer so far; later pieces are appended to it.
      const base = { ...appendOutput(emptyOutput(chat_id), "text", text), first: buffer?.end ?? 0, end: buffer?.end ?? 0 };
      return { ...outputs, [message.id]: loadPieces(base, chat_id, pieces) ?? base };
    }
    const loaded = loadPieces(buffer, chat_id, pieces);
    if (loaded !== undefined && pieces.length > 0) return evictOldest({ ...outputs, [message.id]: loaded });
    const knowsMore = buffer !== undefined && !buffer.stale && text.length <= buffer.received_chars;
    if (knowsMore || text === "") return outputs;
    return evictOldest({ ...outputs, [message.id]: restart(buffer, chat_id, "stdout", text) });
  }, live);
}

/** Marks all live output, since every running message may lack something after an interruption of the events. */
export function markAllStale(live: LiveOutputs): LiveOutputs {
  return Object.fromEntries(Object.entries(live).map(([id, output]) => [id, markStale(output)]));
}

/** Drops the buffers for which `gone` returns true. */
export function without(live: LiveOutputs, gone: (id: number, output: LiveOutput) => boolean): LiveOutputs {
  return Object.fromEntries(Object.entries(live).filter(([id, output]) => !gone(Number(id), output)));
}

function evictOldest(live: LiveOutputs): LiveOutputs {
  const ids = Object.keys(live).map(Number);
  if (ids.length <= LIVE_COMMANDS_COUNT) return live;
  const oldest = Math.min(...ids);
  return without(live, (id) => id === oldest);
}
