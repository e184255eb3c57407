/** How the open chat's agent stands, asked for anew whenever something has ended in it. */
import { useEffect, useState } from "react";
import { useActions } from "../../state/context";
import type { ChatDetails } from "../../types";

type Change = (change: Partial<ChatDetails>) => void;

/** `turn` is whatever differs when it is to be asked for anew. */
export function useChatDetails(chatId: string | null, turn: string): [ChatDetails | null, Change] {
  const actions = useActions();
  const [details, setDetails] = useState<ChatDetails | null>(null);
  useEffect(() => {
    if (chatId === null) return setDetails(null);
    let isWanted = true;
    actions.chatDetails(chatId).then(
      (found) => {
        if (isWanted) setDetails(found);
      },
      // The conversation itself says what is wrong.
      () => {},
    );
    return () => {
      isWanted = false;
    };
  }, [actions, chatId, turn]);
  const change: Change = (changed) => setDetails((known) => known && { ...known, ...changed });
  return [details?.id === chatId ? details : null, change];
}
