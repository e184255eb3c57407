import { useEffect, useState } from "react";
import { SEARCH_PAUSE_MS } from "../limits";
import { useActions } from "../state/context";
import type { Chat } from "../types";

/** Chats whose title has every word of the query: known at once. */
export function titled(chats: Chat[], query: string): Chat[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return chats.filter((chat) => words.every((word) => chat.title.toLowerCase().includes(word)));
}

/** Those found by title, then those that the server found: by what was said, or beyond the part of the list that is here. */
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
  const [answer, setAnswer] = useState<{ query: string; chats: Chat[] }>({ query: "", chats: [] });
  useEffect(() => {
    if (wanted === "") return;
    let current = true;
    const settle = (found: Chat[]) => {
      if (current) setAnswer({ query: wanted, chats: found });
    };
    const timer = setTimeout(() => {
      // Without an answer what the titles say stands alone.
      findChats(wanted).then(settle, () => settle([]));
    }, SEARCH_PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [wanted, findChats]);
  if (wanted === "") return { chats, searching: false };
  const settled = answer.query === wanted;
  return { chats: merged(titled(chats, wanted), settled ? answer.chats : []), searching: !settled };
}
