/** How the open chat's agent stands, asked for again whenever something has ended in it. */
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useActions } from "../../state/context";
import type { ChatDetails } from "../../types";

type Change = (change: Partial<ChatDetails>) => void;

/** `turn` is whatever differs when it is to be asked for again. */
export function useChatDetails(chatId: string | null, turn: string): [ChatDetails | null, Change] {
  const actions = useActions();
  const queries = useQueryClient();
  const key = ["chat's agent", chatId, turn];
  // Without an answer nothing is shown: the conversation itself says what is wrong.
  const { data } = useQuery({
    queryKey: key,
    queryFn: () => actions.chatDetails(chatId ?? ""),
    enabled: chatId !== null,
    placeholderData: keepPreviousData,
  });
  const change: Change = (changed) => queries.setQueryData<ChatDetails>(key, (known) => ({ ...(known ?? data), ...changed }) as ChatDetails);
  return [data !== undefined && data.id === chatId ? data : null, change];
}
