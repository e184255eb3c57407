import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useAppState } from "../state/context";
import { overall } from "../state/activity";

/**
 * The window's title: the open chat, preceded by a mark for waiting questions or running work, so that a tab in the background
 * shows it.
 */
export function useTitle(): void {
  const { t } = useTranslation("frame");
  const { chats, open_chat_id: openChatId, activity, session } = useAppState("chats", "open_chat_id", "activity", "session");
  const chat = chats.find((candidate) => candidate.id === openChatId);
  // Sub-agents' chats are not in the list; activity in them also appears in their parent chats.
  const { running, asking } = overall(activity, chats.map((known) => known.id));
  const state = asking > 0 ? `(${asking}) ${t("asking")} · ` : running ? "● " : "";
  const name = chat?.title ? `${chat.title} · ` : "";
  const title = session === "signed_in" ? `${state}${name}Sandbridge` : "Sandbridge";
  useEffect(() => {
    document.title = title;
  }, [title]);
}
