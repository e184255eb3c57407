import { ArrowLeft } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useActions, useAppState, useSelected } from "../state/context";
import { openChatOf } from "../state/state";
import { placeName } from "../state/where";
import type { ChatDetails } from "../types";
import { AgentTree } from "./AgentTree";
import styles from "./chat.module.css";

interface Props {
  chatId: string;
  details: ChatDetails | null;
  turn: string;
}

/** The header of the open chat: its parent if it is a sub-agent's, its binding, and its sub-agents. */
export function ChatHeader({ chatId, details, turn }: Props) {
  const { t } = useTranslation("chat");
  const { chats, parents } = useAppState("chats", "parents");
  const { openChat } = useActions();
  const parent = parents[chatId] ?? details?.parent_id ?? null;
  const runner = useSelected(openChatOf)?.runner ?? null;
  return (
    <div className={styles.chatHeader}>
      {parent !== null && (
        <nav className={styles.breadcrumb} aria-label={t("agent.wayBack")}>
          <button type="button" className="quiet" onClick={() => openChat(parent)}>
            <ArrowLeft aria-hidden="true" />
            {t("back", { title: chats.find((chat) => chat.id === parent)?.title || t("backToChat") })}
          </button>
          <span className="hint">{t("subAgentChat")}</span>
        </nav>
      )}
      {runner !== null && <p className={styles.binding}>{t("bound", { place: placeName(runner) })}</p>}
      <AgentTree chatId={chatId} turn={turn} />
    </div>
  );
}
