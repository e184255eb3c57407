import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { Field, Problem } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import { CORE_BLOCKS, MEMORY_KINDS, type MemoryKind } from "./types";

interface OfAgent {
  /** The agent of a group that remembers the text; null for the user's own memories. */
  agent: number | null;
}

/** The form that adds a memory. */
export function AddMemory({ agent, onAdded }: OfAgent & { onAdded: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [kind, setKind] = useState<MemoryKind>("semantic");
  const [block, setBlock] = useState<string>(CORE_BLOCKS[0]);
  const [text, setText] = useState("");
  const add = useAction(async () => {
    await requests.keepMemory({ kind, text: text.trim(), name: kind === "core" ? block : null, agent: agent === null ? null : String(agent) });
    setText("");
    await onAdded();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <div className={styles.fields}>
        <Field label={t("memory.kind")} hint={t(`memory.kindHints.${kind}`)}>
          {(id, hint) => (
            <select id={id} aria-describedby={hint} value={kind} onChange={(event) => setKind(event.target.value as MemoryKind)}>
              {MEMORY_KINDS.map((candidate) => (
                <option key={candidate} value={candidate}>
                  {t(`memory.kinds.${candidate}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        {kind === "core" && (
          <Field label={t("memory.block")}>
            {(id) => (
              <select id={id} value={block} onChange={(event) => setBlock(event.target.value)}>
                {CORE_BLOCKS.map((candidate) => (
                  <option key={candidate} value={candidate}>
                    {t(`memory.blocks.${candidate}`)}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
      </div>
      <Field label={t("memory.newText")}>{(id) => <textarea id={id} required rows={2} value={text} onChange={(event) => setText(event.target.value)} />}</Field>
      <button type="submit">{t("memory.add")}</button>
      <Problem text={add.error} />
    </form>
  );
}

/** The form that forgets all memories with certain words. */
export function ForgetAbout({ agent, onForgotten }: OfAgent & { onForgotten: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [about, setAbout] = useState("");
  const [count, setCount] = useState<number | null>(null);
  const forget = useAction(async () => {
    const forgotten = await requests.forgetAbout(about.trim(), agent);
    setCount(forgotten.count);
    setAbout("");
    await onForgotten();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void forget.run();
  };
  return (
    <form className={styles.stack} onSubmit={submit}>
      <Field label={t("memory.forgetAbout")} hint={t("memory.forgetAboutHint")}>
        {(id, hint) => <input id={id} aria-describedby={hint} required value={about} onChange={(event) => setAbout(event.target.value)} />}
      </Field>
      <button type="submit">{t("memory.forget")}</button>
      {count !== null && <p role="status">{t("memory.forgotten", { number: count })}</p>}
      <Problem text={forget.error} />
    </form>
  );
}
