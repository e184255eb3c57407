import { ArrowDown } from "lucide-react";
import { createContext, type RefObject, useContext, useImperativeHandle, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Virtuoso, type VirtuosoHandle } from "react-virtuoso";
import { useAction } from "../lib/useAction";
import { DRAWN_BEYOND_PX } from "../limits";
import { useActions, useAppState, useSelected } from "../state/context";
import type { Pending } from "../state/outbox";
import type { Message } from "../types";
import { FIRST_INDEX, type Item, itemsOf, moved, type Position, speakingOf } from "./items";
import { MessageItem } from "./MessageItem";
import { PendingItem } from "./PendingItem";
import { TurnEnd } from "./TurnEnd";
import { useFollowEnd } from "./useFollowEnd";
import styles from "./chat.module.css";

export interface ListHandle {
  /** Scrolls a message into view, and focuses its question. */
  showQuestion(messageId: number): void;
  showEnd(): void;
}

interface Props {
  pending: Pending[];
  handle: RefObject<ListHandle | null>;
}

/** The open chat's messages. Only those in view are drawn; the list follows its end as long as that is in view. */
export function MessageList({ pending, handle }: Props) {
  const { t } = useTranslation("chat");
  const { messages, messages_loaded: loaded, more_messages: more } = useAppState("messages", "messages_loaded", "more_messages");
  const speaking = useSelected(speakingOf);
  const older = useAction(useActions().loadOlder);
  const items = useMemo(() => itemsOf(messages, speaking, pending), [messages, speaking, pending]);
  const position = usePosition(items);
  const list = useRef<VirtuosoHandle>(null);
  // A long list stays hidden until it has scrolled to its end; a short one is visible at once.
  const [opensAtEnd] = useState(() => items.length > FEW_ITEMS_COUNT);
  const { atEnd, showEnd, props } = useFollowEnd();
  const unseen = useUnseen(items, atEnd);
  useImperativeHandle(handle, () => ({
    showEnd,
    showQuestion: (messageId) => {
      const index = items.findIndex((item) => item.key === String(messageId));
      if (index === -1) return;
      list.current?.scrollIntoView({ index, done: () => focusQuestion(messageId) });
    },
  }));
  const { run: loadOlder, error } = older;
  const head = useMemo(() => ({ more, error, load: () => void loadOlder() }), [more, error, loadOlder]);
  return (
    <div className={styles.messagesFrame}>
      <Head value={head}>
        <Virtuoso
          ref={list}
          className={styles.messages}
          role="log"
          // `Announcer` announces new messages: this list would announce every message that is scrolled into view.
          aria-live="off"
          aria-label={t("messages")}
          aria-busy={!loaded}
          tabIndex={0}
          data={items}
          firstItemIndex={position.firstIndex}
          initialTopMostItemIndex={opensAtEnd ? { index: "LAST", align: "end" } : 0}
          computeItemKey={keyOf}
          itemContent={contentOf}
          components={COMPONENTS}
          // None above the view: heights are estimates until drawn, and a wrong estimate would move the visible part.
          increaseViewportBy={{ top: 0, bottom: DRAWN_BEYOND_PX }}
          {...props}
          startReached={() => {
            if (more) void older.run();
          }}
        />
      </Head>
      {!atEnd && (
        <button type="button" className={styles.jump} onClick={showEnd}>
          <ArrowDown aria-hidden="true" />
          {unseen > 0 ? t("jumpNew", { count: unseen }) : t("jump")}
        </button>
      )}
    </div>
  );
}

/** The number of items added since the end was scrolled out of view. */
function useUnseen(items: Item[], atEnd: boolean): number {
  // The newest item when the end left the view.
  const [seen, setSeen] = useState<string | null>(null);
  const newest = atEnd ? null : (seen ?? items.at(-1)?.key ?? null);
  if (newest !== seen) setSeen(newest);
  return newest === null ? 0 : items.length - 1 - items.findLastIndex((item) => item.key === newest);
}

function usePosition(items: Item[]): Position {
  const [position, setPosition] = useState<Position>({ firstIndex: FIRST_INDEX, firstKey: null });
  // Computed in the same render as the items, since the view would jump if only one of them changed.
  const now = moved(position, items);
  if (now.firstIndex !== position.firstIndex || now.firstKey !== position.firstKey) setPosition(now);
  return now;
}

function focusQuestion(messageId: number): void {
  document.querySelector<HTMLElement>(`[data-asking="${messageId}"]`)?.focus({ preventScroll: true });
}

const Head = createContext<{ more: boolean; error: string | null; load: () => void }>({ more: false, error: null, load: () => {} });

function ListHead() {
  const { t } = useTranslation("chat");
  const { more, error, load } = useContext(Head);
  if (!more) return <p className={`${styles.listHead} hint`}>{t("beginning")}</p>;
  if (error === null) return <p className={`${styles.listHead} hint`}>{t("loadingOlder")}</p>;
  return (
    <button type="button" className={`${styles.listHead} quiet`} onClick={load}>
      {error}
    </button>
  );
}

function ListFoot() {
  return <div className={styles.listFoot} />;
}

function Row({ item }: { item: Item }) {
  return (
    <div className={styles.rowOfList}>
      {item.kind === "pending" ? (
        <PendingItem pending={item.pending} />
      ) : item.kind === "end" ? (
        <TurnEnd message={item.message} />
      ) : (
        <LiveMessage message={item.message} />
      )}
    </div>
  );
}

/** A message with its live output: a piece of output re-renders only this message. */
function LiveMessage({ message }: { message: Message }) {
  const live = useSelected((state) => state.live[message.id]);
  return <MessageItem message={message} live={live} />;
}

/** A number of items that fits any view. */
const FEW_ITEMS_COUNT = 2;
const COMPONENTS = { Header: ListHead, Footer: ListFoot };
const keyOf = (_: number, item: Item) => item.key;
const contentOf = (_: number, item: Item) => <Row item={item} />;
