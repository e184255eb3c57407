import { useMemo, useRef } from "react";
import { useTranslation } from "react-i18next";
import { isCovered } from "../lib/location";
import { useAddress } from "../lib/useAddress";
import { useAppState, useSelected } from "../state/context";
import { isOpen } from "../state/messages";
import { unsent } from "../state/outbox";
import { openChatOf } from "../state/state";
import type { Message } from "../types";
import { AddModelButton, NoModelBar } from "./AddModel";
import { Announcer } from "./Announcer";
import { ContextRing } from "./bar/ContextRing";
import { ModelPicker } from "./bar/ModelPicker";
import { ModePicker } from "./bar/ModePicker";
import { useChatDetails } from "./bar/useChatDetails";
import { ChatHeader } from "./ChatHeader";
import { Composer } from "./composer/Composer";
import { EmptyState } from "./EmptyState";
import { FoldsProvider } from "./folds";
import { isUnanswered, newestTodos, underWay } from "./items";
import { type ListHandle, MessageList } from "./MessageList";
import { TodoPanel } from "./TodoPanel";
import { TurnBar } from "./TurnBar";
import styles from "./chat.module.css";
import composer from "./composer/composer.module.css";

/** The open chat: its messages, its current activity, and the composer. */
export function ChatView() {
  const { view } = useAppState("view");
  return (
    <FoldsProvider key={view}>
      <Conversation />
    </FoldsProvider>
  );
}

function Conversation() {
  const { t } = useTranslation("chat");
  const { open_chat_id: chatId, open_chat_events: events, messages, messages_loaded: loaded, outbox, runners } = useAppState("open_chat_id", "open_chat_events", "messages", "messages_loaded", "outbox", "runners");
  const title = useSelected((state) => openChatOf(state)?.title);
  const list = useRef<ListHandle>(null);
  const pending = useMemo(() => unsent(outbox, chatId, messages), [outbox, chatId, messages]);
  const sent = useMemo(() => messages.filter((message) => message.role === "user").map((message) => message.text), [messages]);
  const now = useMemo(() => underWay(messages, runners), [messages, runners]);
  const todos = useMemo(() => newestTodos(messages), [messages]);
  const turn = useMemo(() => turnOf(messages), [messages]);
  // Loaded again when the settings are closed: a model may have been added.
  const [details, changeDetails] = useChatDetails(chatId, `${turn} ${events} ${isCovered(useAddress())}`);
  const lacksModel = details?.model_configured === false;
  const isEmpty = messages.length === 0 && pending.length === 0;
  const isLoading = chatId !== null && !loaded;
  return (
    <main className={styles.chat}>
      {chatId !== null && <ChatHeader chatId={chatId} details={details} turn={turn} />}
      {!(isEmpty && !isLoading) && <h1 className="unseen">{title || t("untitled")}</h1>}
      {isEmpty && !isLoading && <EmptyState />}
      {isLoading && <p className={`${styles.messagesLoading} hint`}>{t("loading")}</p>}
      {!isEmpty && !isLoading && <MessageList pending={pending} handle={list} />}
      <Announcer messages={messages} />
      <div className={styles.foot}>
        {lacksModel && isUnanswered(messages) && <NoModelBar />}
        {todos !== null && <TodoPanel items={todos} />}
        {chatId !== null && now !== null && (
          <TurnBar chatId={chatId} underWay={now} onShow={(id) => list.current?.showQuestion(id)} />
        )}
        <Composer chatId={chatId} sent={sent} onSent={() => list.current?.showEnd()}>
          {details && (
            <>
              <ModePicker details={details} onChange={changeDetails} />
              {lacksModel ? <AddModelButton /> : <ModelPicker details={details} onChange={changeDetails} />}
              <span className={composer.gap} />
              <ContextRing details={details} />
            </>
          )}
        </Composer>
      </div>
    </main>
  );
}

/** Differs whenever a turn, or an answer within one, has ended. */
function turnOf(messages: Message[]): string {
  const last = messages.at(-1);
  const ended = messages.findLast((message) => message.agent != null && !isOpen(message));
  return `${ended?.id ?? 0} ${ended?.agent?.status ?? ""} ${last?.role === "notice" ? last.id : 0} ${messages.some(isOpen)}`;
}
