import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import { isOpen } from "../state/messages";
import { type LiveOutput, saidOn } from "../state/output";
import type { Agent, Message } from "../types";
import { useFold } from "./folds";
import { askedWith } from "./items";
import { Markdown } from "./markdown/Markdown";

interface Props {
  message: Message;
  reply: Extract<Agent, { kind: "reply" }>;
  live: LiveOutput | undefined;
}

/** Something the model says; the first message of an answer tells how all of it ended. */
export function Reply({ message, reply, live }: Props) {
  const { t } = useTranslation("chat");
  const text = isOpen(message) && live !== undefined ? saidOn(live, "text") : message.text;
  const reasoning = reply.reasoning ?? saidOn(live, "reasoning");
  const { status } = reply;
  return (
    <div className="reply">
      {reasoning !== "" && <Reasoning id={message.id} text={reasoning} />}
      {text !== "" && <Markdown text={text} />}
      {(status === "cancelled" || status === "interrupted") && <p className="hint">{t(`turn.${status}`)}</p>}
      {reply.error !== undefined && <Failure message={message} error={reply.error} />}
    </div>
  );
}

function Reasoning({ id, text }: { id: number; text: string }) {
  const { t } = useTranslation("chat");
  const [open, toggle] = useFold(`reasoning ${id}`, false);
  const words = text.split(/\s+/).length;
  return (
    <div className="reasoning">
      <button type="button" className="quiet" aria-expanded={open} onClick={toggle}>
        {t("reasoning")} <span className="hint">{t("reasoningLength", { count: words })}</span>
      </button>
      {open && <p className="text">{text}</p>}
    </div>
  );
}

function Failure({ message, error }: { message: Message; error: string }) {
  const { t } = useTranslation("chat");
  const { messages } = useAppState();
  const again = useAction(useActions().sayAgain);
  const asked = askedWith(messages, message);
  return (
    <div className="failure" role="alert">
      <p className="problem">{error}</p>
      {asked !== undefined && message.undone !== true && (
        <button type="button" disabled={again.busy} onClick={() => void again.run(asked)}>
          {t("turn.retry")}
        </button>
      )}
      {again.error !== null && <p className="problem">{again.error}</p>}
    </div>
  );
}
