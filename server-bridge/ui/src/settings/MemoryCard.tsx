import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { Memory } from "./types";

interface MemoryProps {
  memory: Memory;
  onChanged: () => Promise<void>;
}

/** A memory or a proposal, with its source, its validity, its history and its buttons. */
export function MemoryCard({ memory, onChanged }: MemoryProps) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [isEdited, setIsEdited] = useState(false);
  const name = memory.name === "" ? `#${String(memory.id)}` : memory.name;
  const accept = useAction(async () => {
    await requests.acceptMemory(memory.id);
    await onChanged();
  });
  const forget = useAction(async () => {
    await requests.forgetMemory(memory.id);
    await onChanged();
  });
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {name} <span className={marks.badge}>{t(`memory.kinds.${memory.kind}`)}</span>
        </h4>
        <Source memory={memory} />
      </header>
      <p className={styles.asWritten}>{memory.text}</p>
      <State memory={memory} />
      {isEdited && (
        <EditMemory
          memory={memory}
          onDone={async () => {
            setIsEdited(false);
            await onChanged();
          }}
        />
      )}
      <div className={styles.actions}>
        {memory.proposed && (
          <button type="button" aria-label={t("memory.acceptName", { name })} onClick={() => void accept.run()}>
            {t("memory.accept")}
          </button>
        )}
        {!memory.proposed && (
          <button type="button" aria-label={t("memory.editName", { name })} aria-expanded={isEdited} onClick={() => setIsEdited(!isEdited)}>
            {t("memory.edit")}
          </button>
        )}
        <ConfirmButton
          label={memory.proposed ? t("memory.reject") : t("memory.forget")}
          name={memory.proposed ? t("memory.rejectName", { name }) : t("memory.forgetName", { name })}
          question={memory.proposed ? t("memory.rejectQuestion", { name }) : t("memory.question", { name })}
          confirmLabel={memory.proposed ? t("memory.reject") : t("memory.forget")}
          onConfirm={() => void forget.run()}
        />
      </div>
      {memory.revision > 1 && <History memory={memory} />}
      <Problem text={accept.error ?? forget.error} />
    </li>
  );
}

/** The label for the origin of a memory's text. For an agent of a group, `asked` means a person who asked the agent. */
function useSourceWords(memory: Memory): (source: Memory["source"]) => string {
  const { t } = useTranslation("settings");
  return (source) => (memory.agent !== null && source === "asked" ? t("memory.askedInGroup") : t(`memory.sources.${source}`));
}

function Source({ memory }: { memory: Memory }) {
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const source = useSourceWords(memory)(memory.source);
  return (
    <span className="hint" title={absolute(memory.updated_at)}>
      {memory.chat_id === null ? source : <a href={`#/chats/${memory.chat_id}`}>{source}</a>} · {relative(memory.updated_at, now)}
    </span>
  );
}

function State({ memory }: { memory: Memory }) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const lines = [
    memory.agent === null ? null : t("memory.ofAgent", { handle: memory.agent.handle, group: memory.agent.group }),
    memory.scope_name === "" ? null : t("memory.onlyOn", { name: memory.scope_name }),
    memory.replaces === null ? null : t("memory.replaces", { id: memory.replaces }),
    memory.superseded_by === null ? null : t("memory.superseded", { id: memory.superseded_by }),
    memory.valid_to === null ? null : t("memory.until", { when: absolute(memory.valid_to) }),
  ];
  const shown = lines.filter((line) => line !== null);
  return (
    <>
      {shown.length > 0 && <p className="hint">{shown.join(" · ")}</p>}
      {memory.would_replace.map((replaced) => (
        <p key={replaced.id} className="hint">
          {t("memory.wouldReplace", { id: replaced.id, text: replaced.text })}
          {replaced.superseded_by !== null && ` · ${t("memory.superseded", { id: replaced.superseded_by })}`}
        </p>
      ))}
    </>
  );
}

function EditMemory({ memory, onDone }: { memory: Memory; onDone: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [text, setText] = useState(memory.text);
  const [until, setUntil] = useState(memory.valid_to === null ? "" : new Date(memory.valid_to).toISOString().slice(0, 10));
  const save = useAction(async () => {
    await requests.changeMemory(memory.id, text.trim(), until === "" ? 0 : Date.parse(until));
    await onDone();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  return (
    <form className={styles.stack} onSubmit={submit}>
      <Field label={t("memory.text")}>{(id) => <textarea id={id} required rows={3} value={text} onChange={(event) => setText(event.target.value)} />}</Field>
      <Field label={t("memory.validUntil")} hint={t("memory.validUntilHint")}>
        {(id, hint) => <input id={id} aria-describedby={hint} type="date" value={until} onChange={(event) => setUntil(event.target.value)} />}
      </Field>
      <button type="submit">{t("memory.save")}</button>
      <Problem text={save.error} />
    </form>
  );
}

function History({ memory }: { memory: Memory }) {
  const { t } = useTranslation("settings");
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>{t("memory.history")}</summary>
      {isOpen && <Revisions memory={memory} />}
    </details>
  );
}

function Revisions({ memory }: { memory: Memory }) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const requests = useRequests();
  const words = useSourceWords(memory);
  const loaded = useLoaded(["memory", String(memory.id), String(memory.revision)], () => requests.memory(memory.id));
  return (
    <Ready loaded={loaded}>
      {(detail) => (
        <ol>
          {detail.history.map((revision) => (
            <li key={revision.revision}>
              <p className={styles.asWritten}>{revision.text}</p>
              <p className="hint">
                {t("memory.replacedBy", { who: words(revision.replaced_by), when: absolute(revision.replaced_at) })}
              </p>
            </li>
          ))}
        </ol>
      )}
    </Ready>
  );
}
