import { useQuery } from "@tanstack/react-query";
import { useSettled } from "../lib/useSettled";
import { SEARCH_PAUSE_MS } from "../limits";
import { useActions } from "../state/context";
import type { Chat } from "../types";

/** Chats whose title contains every word of the query; found without the server. */
export function titled(chats: Chat[], query: string): Chat[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return chats.filter((chat) => words.every((word) => chat.title.toLowerCase().includes(word)));
}

/** Chats found by title, then those that the server found by their text, or outside the loaded part of the list. */
export function merged(byTitle: Chat[], found: Chat[]): Chat[] {
  const known = new Set(byTitle.map((chat) => chat.id));
  return [...byTitle, ...found.filter((chat) => !known.has(chat.id))];
}

interface Search {
  chats: Chat[];
  searching: boolean;
}

/** The chats for a query; all of them for an empty one. */
export function useChatSearch(chats: Chat[], query: string): Search {
  const { findChats } = useActions();
  const wanted = query.trim();
  const settled = useSettled(wanted, SEARCH_PAUSE_MS);
  const isAsked = wanted !== "" && settled === wanted;
  // If the server does not answer, only titles are searched.
  const { data, isFetching } = useQuery({ queryKey: ["chats found", wanted], queryFn: () => findChats(wanted), enabled: isAsked });
  if (wanted === "") return { chats, searching: false };
  return { chats: merged(titled(chats, wanted), data ?? []), searching: !isAsked || isFetching };
}
