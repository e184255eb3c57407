import { type KeyboardEvent, useState } from "react";
import { useAction } from "../lib/useAction";
import { useActions } from "../state/context";

/** Where a message is written. `sent` are the chat's earlier texts, for arrow-up. */
export function Composer({ sent }: { sent: string[] }) {
  const actions = useActions();
  const [text, setText] = useState("");
  // Position in `sent` while walking through it; null outside.
  const [recalled, setRecalled] = useState<number | null>(null);
  const sending = useAction(actions.send);

  const send = async () => {
    if (text.trim() === "" || !(await sending.run(text))) return;
    setText("");
    setRecalled(null);
  };
  const recall = (at: number) => {
    setRecalled(at < sent.length ? at : null);
    setText(sent[at] ?? "");
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
      return;
    }
    const walking = recalled !== null && text === sent[recalled];
    if (event.key === "ArrowUp" && (text === "" || walking)) {
      const at = (walking ? recalled : sent.length) - 1;
      if (at < 0) return;
      event.preventDefault();
      recall(at);
    } else if (event.key === "ArrowDown" && walking) {
      event.preventDefault();
      recall(recalled + 1);
    }
  };

  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {sending.error !== null && (
        <p className="problem" role="alert">
          Not sent: {sending.error}
        </p>
      )}
      <div className="row">
        <textarea
          aria-label="Message"
          placeholder="!command or /help"
          rows={1}
          autoFocus
          autoCapitalize="none"
          spellCheck={false}
          value={text}
          readOnly={sending.busy}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button type="submit" className="primary" disabled={sending.busy || text.trim() === ""}>
          Send
        </button>
      </div>
    </form>
  );
}
