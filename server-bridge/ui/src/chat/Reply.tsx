import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { isOpen } from "../state/messages";
import { type LiveOutput, saidOn } from "../state/output";
import type { Agent, Message } from "../types";
import { countWords } from "./countWords";
import { useFold } from "./folds";
import { Markdown } from "./markdown/Markdown";
import styles from "./messages.module.css";

interface Props {
  message: Message;
  reply: Extract<Agent, { kind: "reply" }>;
  live: LiveOutput | undefined;
}

/** A text that the model wrote, with its reasoning. */
export function Reply({ message, reply, live }: Props) {
  const text = isOpen(message) && live !== undefined ? saidOn(live, "text") : message.text;
  const reasoning = reply.reasoning ?? saidOn(live, "reasoning");
  return (
    <div className={styles.reply}>
      {reasoning !== "" && <Reasoning id={message.id} text={reasoning} />}
      {text !== "" && <Markdown text={text} saidAt={message.created_at} />}
    </div>
  );
}

function Reasoning({ id, text }: { id: number; text: string }) {
  const { t } = useTranslation("chat");
  const [open, toggle] = useFold(`reasoning ${id}`, false);
  const words = useMemo(() => countWords(text), [text]);
  return (
    <div className={styles.reasoning}>
      <button type="button" className="quiet" aria-expanded={open} onClick={toggle}>
        {t("reasoning")} <span className="hint">{t("reasoningLength", { count: words })}</span>
      </button>
      {open && <p className={styles.text}>{text}</p>}
    </div>
  );
}
