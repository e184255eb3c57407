import { memo } from "react";
import { useTranslation } from "react-i18next";
import { useTimeWords } from "../lib/useTimeWords";
import type { LiveOutput } from "../state/output";
import type { Message } from "../types";
import { AttachedFiles, splitAttached } from "./AttachedFiles";
import { ExecCard } from "./cards/ExecCard";
import { ToolCard } from "./cards/ToolCard";
import { MessageMenu } from "./MessageMenu";
import { Reply } from "./Reply";
import { classes } from "../lib/classes";
import styles from "./messages.module.css";

interface Props {
  message: Message;
  live: LiveOutput | undefined;
}

const SPEAKER = { user: "you", exec: "command", notice: "notice", assistant: "assistant" } as const;

export const MessageItem = memo(function MessageItem({ message, live }: Props) {
  const { t } = useTranslation("chat");
  const { absolute } = useTimeWords();
  const speaker = t(SPEAKER[message.role]);
  const hasMenu = message.role === "user" || message.agent?.kind === "reply";
  return (
    <article
      className={classes(styles.message, styles[message.role], message.undone === true && styles.undone)}
      aria-label={message.undone === true ? t("takenBack", { speaker }) : speaker}
      title={absolute(message.created_at)}
      data-testid="message"
      data-role={message.role}
      data-status={message.exec?.status ?? message.agent?.status}
    >
      <Body message={message} live={live} />
      {hasMenu && <MessageMenu message={message} />}
    </article>
  );
});

function Body({ message, live }: Props) {
  if (message.exec) return <ExecCard message={message} exec={message.exec} live={live} />;
  if (message.agent?.kind === "tool") return <ToolCard message={message} tool={message.agent} live={live} />;
  if (message.agent?.kind === "reply") return <Reply message={message} reply={message.agent} live={live} />;
  if (message.role === "notice" && isAligned(message.text)) return <Aligned text={message.text} />;
  if (message.role !== "user") return <p className={styles.text}>{message.text}</p>;
  const { text, files } = splitAttached(message.text);
  return (
    <div className={styles.bubble}>
      <p className={styles.text}>{text}</p>
      {files.length > 0 && <AttachedFiles files={files} />}
    </div>
  );
}

/** A table from the server itself, in columns as in a terminal; wide tables can be scrolled. */
function Aligned({ text }: { text: string }) {
  const { t } = useTranslation("chat");
  return (
    <pre className={`${styles.text} ${styles.aligned}`} role="group" tabIndex={0} aria-label={t("notice")}>
      {text}
    </pre>
  );
}

/** True if at least two lines have columns that only a monospaced font keeps aligned. */
export function isAligned(text: string): boolean {
  return text.split("\n").filter((line) => /\S {2,}\S/.test(line)).length >= 2;
}
