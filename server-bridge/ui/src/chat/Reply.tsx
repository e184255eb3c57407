import { useAction } from "../lib/useAction";
import { useActions } from "../state/context";
import type { LiveOutput } from "../state/output";
import type { Agent, Message } from "../types";

interface Props {
  message: Message;
  reply: Extract<Agent, { kind: "reply" }>;
  live: LiveOutput | undefined;
}

/** Something the model says; the first message of an answer tells how all of it stands. */
export function Reply({ message, reply, live }: Props) {
  const actions = useActions();
  const cancel = useAction(actions.cancel);
  const isOpen = reply.status === "running" || reply.status === "queued";
  const said = (channel: "text" | "reasoning") =>
    live?.segments.filter((segment) => segment.channel === channel).map((segment) => segment.text).join("") ?? "";
  const text = isOpen && live !== undefined ? said("text") : message.text;
  const reasoning = reply.reasoning ?? said("reasoning");
  return (
    <div className="reply">
      {reasoning !== "" && (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <p className="text">{reasoning}</p>
        </details>
      )}
      {text !== "" && <p className="text">{text}</p>}
      {isOpen && (
        <p className="status" role="status" data-testid="turn-status">
          {reply.status === "queued" ? "Waiting…" : "Working…"}{" "}
          <button type="button" disabled={cancel.busy} onClick={() => void cancel.run(message.chat_id)}>
            {cancel.busy ? "Cancelling…" : "Cancel"}
          </button>
        </p>
      )}
      {reply.status === "cancelled" && <p className="status">Cancelled</p>}
      {reply.error !== undefined && (
        <p className="problem" role="alert">
          {reply.error}
        </p>
      )}
    </div>
  );
}
