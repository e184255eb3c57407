import { useMemo } from "react";
import { useAppState } from "../state/context";
import { placeName } from "../state/where";
import { Composer } from "./Composer";
import { EmptyState } from "./EmptyState";
import { MessageList } from "./MessageList";

export function ChatView({ onConnectRunner }: { onConnectRunner: () => void }) {
  const { chats, open_chat_id: openChatId, messages, messages_loaded: loaded } = useAppState();
  const chat = chats.find((candidate) => candidate.id === openChatId);
  const sent = useMemo(() => messages.filter((message) => message.role === "user").map((message) => message.text), [messages]);
  const empty = messages.length === 0 && (openChatId === null || loaded);
  return (
    <main className="chat">
      {chat?.runner && (
        <p className="binding">
          This chat is bound to <strong>{placeName(chat.runner)}</strong>, whatever runner is active.
        </p>
      )}
      {empty ? <EmptyState onConnectRunner={onConnectRunner} /> : <MessageList key={openChatId} />}
      <Composer sent={sent} />
    </main>
  );
}
