/** The state of the open chat's agent, loaded again whenever a turn or an answer in it ends. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { useActions } from "../../state/context";
import type { ChatDetails } from "../../types";

type Change = (change: Partial<ChatDetails>) => void;

/** `turn` is any value that changes when the details must be loaded again. */
export function useChatDetails(chatId: string | null, turn: string): [ChatDetails | null, Change] {
  const actions = useActions();
  const queries = useQueryClient();
  const key = ["chat's agent", chatId];
  // A failed request shows nothing here: the conversation reports the error.
  const { data, refetch } = useQuery({
    queryKey: key,
    queryFn: () => actions.chatDetails(chatId ?? ""),
    enabled: chatId !== null,
  });
  const seen = useRef(turn);
  useEffect(() => {
    if (seen.current === turn) return;
    seen.current = turn;
    if (chatId !== null) void refetch();
  }, [turn, chatId, refetch]);
  const change: Change = (changed) => queries.setQueryData<ChatDetails>(key, (known) => known && { ...known, ...changed });
  return [data ?? null, change];
}
