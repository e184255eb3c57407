import { memo } from "react";
import { absoluteTime } from "../lib/format";
import type { LiveOutput } from "../state/output";
import type { Message } from "../types";
import { ExecCard } from "./ExecCard";
import { Reply } from "./Reply";
import { ToolCard } from "./ToolCard";

interface Props {
  message: Message;
  live: LiveOutput | undefined;
}

const SPEAKER: Record<Message["role"], string> = {
  user: "You",
  exec: "Command",
  notice: "Notice",
  assistant: "Sandbridge",
};

export const MessageItem = memo(function MessageItem({ message, live }: Props) {
  return (
    <article
      className={`message ${message.role}${message.undone === true ? " undone" : ""}`}
      aria-label={message.undone === true ? `${SPEAKER[message.role]} (taken back)` : SPEAKER[message.role]}
      title={absoluteTime(message.created_at)}
      data-testid="message"
      data-role={message.role}
      data-status={message.exec?.status ?? message.agent?.status}
    >
      <Body message={message} live={live} />
    </article>
  );
});

function Body({ message, live }: Props) {
  if (message.exec) return <ExecCard message={message} exec={message.exec} live={live} />;
  if (message.agent?.kind === "tool") return <ToolCard message={message} tool={message.agent} live={live} />;
  if (message.agent?.kind === "reply") return <Reply message={message} reply={message.agent} live={live} />;
  return <p className="text">{message.text}</p>;
}
