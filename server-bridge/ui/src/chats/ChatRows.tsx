import { type KeyboardEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Virtuoso, type VirtuosoHandle } from "react-virtuoso";
import { ConfirmDialog } from "../kit/ConfirmDialog";
import { useNow } from "../lib/useNow";
import { useActions, useAppState } from "../state/context";
import { chatActivity } from "../state/activity";
import type { Chat } from "../types";
import { ChatRow } from "./ChatRow";
import { type Day, dayOf, isSameDay } from "./days";
import styles from "./chats.module.css";

interface Props {
  chats: Chat[];
  /** True if the chats are grouped by day. */
  grouped: boolean;
  onOpened: () => void;
}

/** The rows of the list; only visible rows are on the page. Tab reaches one of them, the arrow keys the others. */
export function ChatRows({ chats, grouped, onOpened }: Props) {
  const { t, i18n } = useTranslation("chats");
  const { open_chat_id: openChatId, activity, more_chats: more } = useAppState("open_chat_id", "activity", "more_chats");
  const actions = useActions();
  const now = useNow();
  const view = useRef<VirtuosoHandle>(null);
  const rows = useRef<HTMLDivElement>(null);
  const [reached, setReached] = useState<string | null>(null);
  const [renaming, setRenaming] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<Chat | null>(null);
  const at = Math.max(0, chats.findIndex((chat) => chat.id === (reached ?? openChatId)));

  const focusTitle = (id: string) => rows.current?.querySelector<HTMLElement>(`[data-chat="${id}"] [data-title]`)?.focus();
  const focusRow = (index: number) => {
    const chat = chats[index];
    if (chat === undefined) return;
    setReached(chat.id);
    // A row that is scrolled into view is rendered in the next frame.
    view.current?.scrollIntoView({ index, done: () => requestAnimationFrame(() => focusTitle(chat.id)) });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const chat = chats[at];
    const onTitle = event.target instanceof HTMLElement && event.target.dataset.title !== undefined;
    if (chat === undefined || !onTitle) return;
    const steps: Record<string, () => void> = {
      ArrowDown: () => focusRow(at + 1),
      ArrowUp: () => focusRow(at - 1),
      Home: () => focusRow(0),
      End: () => focusRow(chats.length - 1),
      F2: () => setRenaming(chat.id),
      Delete: () => setDeleting(chat),
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    step();
  };
  const remove = async (chat: Chat) => {
    const index = chats.indexOf(chat);
    const next = chats[index + 1] ?? chats[index - 1];
    setReached(next?.id ?? null);
    await actions.deleteChat(chat.id).catch(actions.report);
  };
  const heading = (index: number): string | null => {
    const [chat, before] = [chats[index], chats[index - 1]];
    if (!grouped || chat === undefined) return null;
    const day = dayOf(chat.updated_at, now);
    return before !== undefined && isSameDay(day, dayOf(before.updated_at, now)) ? null : dayName(day);
  };
  const dayName = (day: Day) =>
    day.kind === "month"
      ? new Intl.DateTimeFormat(i18n.language, { year: "numeric", month: "long" }).format(day.at)
      : t(`days.${day.kind}`);
  return (
    <div className={styles.chatRows} ref={rows} onKeyDown={onKeyDown}>
      <Virtuoso
        ref={view}
        data={chats}
        computeItemKey={(_, chat) => chat.id}
        initialItemCount={0}
        increaseViewportBy={400}
        tabIndex={-1}
        endReached={() => {
          if (grouped && more) actions.loadMoreChats().catch(actions.report);
        }}
        itemContent={(index, chat) => (
          <ChatRow
            chat={chat}
            heading={heading(index)}
            current={chat.id === openChatId}
            reachable={index === at}
            activity={chatActivity(activity, chat.id)}
            renaming={renaming === chat.id}
            onOpen={() => {
              setReached(chat.id);
              actions.openChat(chat.id);
              onOpened();
            }}
            onRename={() => setRenaming(chat.id)}
            onRenamed={() => {
              setReached(chat.id);
              setRenaming(null);
            }}
            onDelete={() => setDeleting(chat)}
          />
        )}
      />
      {deleting !== null && (
        <ConfirmDialog
          question={t("deleteQuestion", { title: deleting.title || t("untitled") })}
          note={t("deleteNote")}
          confirmLabel={t("delete")}
          onConfirm={() => void remove(deleting)}
          onClose={() => setDeleting(null)}
        />
      )}
    </div>
  );
}
