import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Markdown } from "../chat/markdown/Markdown";
import { Field } from "../settings/parts";
import type { Gate, GateReply, Run } from "./types";
import styles from "./groups.module.css";

interface Props {
  run: Run;
  gate: Gate;
  busy: boolean;
  onAnswer: (reply: GateReply, text: string | null) => void;
}

/** Replies that come with a text. */
const WRITTEN: GateReply[] = ["edit", "redo"];

/** The question of a run that waits for a person. The first answer counts; a later one gets an error that names who answered. */
export function GateBox({ run, gate, busy, onAnswer }: Props) {
  const { t } = useTranslation("groups");
  const output = run.steps[gate.step]?.output ?? "";
  const [writes, setWrites] = useState<GateReply | null>(null);
  const [text, setText] = useState("");
  const choose = (reply: GateReply) => {
    if (!WRITTEN.includes(reply)) return onAnswer(reply, null);
    setWrites(reply);
    setText(reply === "edit" ? output : "");
  };
  return (
    <section className={styles.gate} aria-label={t("gate")} data-testid="gate">
      <p>
        <strong>{gate.question}</strong>
      </p>
      {output !== "" && (
        <div className={styles.gateOutput}>
          <Markdown text={output} topLevel={3} />
        </div>
      )}
      {writes !== null && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            onAnswer(writes, text);
          }}
        >
          <Field label={t(writes === "edit" ? "newOutput" : "whatToChange")}>
            {(id) => <textarea id={id} rows={4} autoFocus value={text} onChange={(event) => setText(event.target.value)} />}
          </Field>
          <div className={styles.line}>
            <button type="submit" className="primary" disabled={busy || text.trim() === ""}>
              {t(`replies.${writes}`)}
            </button>
            <button type="button" className="quiet" onClick={() => setWrites(null)}>
              {t("cancel")}
            </button>
          </div>
        </form>
      )}
      {writes === null && (
        <div className={styles.line}>
          {gate.replies.map((reply, at) => (
            <button key={reply} type="button" className={at === 0 ? "primary" : reply === "stop" ? "danger" : undefined} disabled={busy} onClick={() => choose(reply)}>
              {t(`replies.${reply}`)}
            </button>
          ))}
        </div>
      )}
    </section>
  );
}
