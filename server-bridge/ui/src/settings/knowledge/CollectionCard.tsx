import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { KNOWLEDGE_POLL_MS } from "../../limits";
import { plainly } from "../hookTexts";
import { Field, Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import type { Collection, KnowledgeDocument } from "../types";
import styles from "../settings.module.css";

interface Props {
  collection: Collection;
  onChanged: () => Promise<void>;
  onRemove: () => void;
}

/** A collection: its documents and their problems, a form that uploads files, and the users with whom it is shared. */
export function CollectionCard({ collection, onChanged, onRemove }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const name = plainly(collection.name);
  const isFolder = collection.place != null;
  const isBusy = collection.waiting > 0;
  const sync = useAction(async (removeMissing: boolean) => {
    await requests.syncCollection(collection.id, removeMissing);
    await onChanged();
  });
  useEffect(() => {
    if (!isBusy && collection.sync_state !== "never" && collection.search_note === "") return;
    const timer = setInterval(() => void onChanged(), KNOWLEDGE_POLL_MS);
    return () => clearInterval(timer);
  }, [isBusy, collection.sync_state, collection.search_note, onChanged]);
  return (
    <li className={`${styles.card} ${styles.stack}`}>
      <header>
        <h4>{name}</h4>
        <span className="hint">
          {!collection.is_own && t("knowledge.of", { owner: collection.owner })}
          {!collection.is_own && isFolder && " · "}
          {isFolder && `${plainly(collection.place ?? "")}:${plainly(collection.path ?? "")}`}
        </span>
      </header>
      <p role="status">
        {t("knowledge.documents", { count: collection.documents })}
        {isBusy && ` · ${t("knowledge.waiting", { count: collection.waiting })}`}
        {collection.failed > 0 && ` · ${t("knowledge.failed", { count: collection.failed })}`}
      </p>
      {collection.waiting_note !== "" && <p className="caution">{plainly(collection.waiting_note)}</p>}
      {isFolder && (
        <p className={collection.sync_state === "synced" ? "hint" : "caution"}>
          {t(`knowledge.sync.${collection.sync_state ?? "never"}`)} {plainly(collection.sync_note)}
        </p>
      )}
      {collection.search_note !== "" && <p className="hint">{plainly(collection.search_note)}</p>}
      <Documents collection={collection} onChanged={onChanged} />
      {collection.is_own && !isFolder && <Upload collection={collection} onChanged={onChanged} />}
      {collection.is_own && <Sharing collection={collection} onChanged={onChanged} />}
      {collection.is_own && (
        <div className={styles.formEnd}>
          {isFolder && (
            <button type="button" disabled={sync.busy} onClick={() => void sync.run(false)}>
              {t("knowledge.look")}
            </button>
          )}
          {isFolder && collection.sync_state === "gone" && (
            <ConfirmButton
              label={t("knowledge.removeMissing")}
              name={t("knowledge.removeMissing")}
              question={t("knowledge.removeMissingQuestion")}
              confirmLabel={t("knowledge.removeMissing")}
              onConfirm={() => void sync.run(true)}
            />
          )}
          <ConfirmButton
            label={t("knowledge.remove")}
            name={t("knowledge.removeName", { name })}
            question={t("knowledge.question", { name })}
            confirmLabel={t("knowledge.remove")}
            onConfirm={onRemove}
          />
        </div>
      )}
      <Problem text={sync.error} />
    </li>
  );
}

function Documents({ collection, onChanged }: { collection: Collection; onChanged: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [isOpen, setOpen] = useState(collection.failed > 0);
  const key = ["knowledge", collection.id, isOpen, collection.documents, collection.waiting, collection.failed];
  const loaded = useLoaded(key, () => (isOpen ? requests.collectionDocuments(collection.id) : Promise.resolve({ documents: [] })));
  const remove = useAction(async (document: KnowledgeDocument) => {
    await requests.removeDocument(document.id);
    await onChanged();
  });
  if (collection.documents === 0) return null;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{t("knowledge.list")}</summary>
      {isOpen && (
        <Ready loaded={loaded}>
          {({ documents }) => (
            <ul className={styles.stack}>
              {documents.map((document) => (
                <li key={document.id} className={styles.plain}>
                  <p className={styles.asWritten}>
                    <strong>{plainly(document.name)}</strong> · {t(`knowledge.state.${document.state}`)}
                    {document.pages > 0 && ` · ${t("knowledge.pages", { count: document.pages })}`}
                  </p>
                  {document.note !== "" && <p className="caution">{plainly(document.note)}</p>}
                  {collection.is_own && collection.place == null && (
                    <ConfirmButton
                      label={t("knowledge.remove")}
                      name={t("knowledge.removeName", { name: plainly(document.name) })}
                      question={t("knowledge.question", { name: plainly(document.name) })}
                      confirmLabel={t("knowledge.remove")}
                      onConfirm={() => void remove.run(document)}
                    />
                  )}
                </li>
              ))}
            </ul>
          )}
        </Ready>
      )}
      <Problem text={remove.error} />
    </details>
  );
}

/** Sends files one after the other, and shows the result of each. */
function Upload({ collection, onChanged }: { collection: Collection; onChanged: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [sent, setSent] = useState<{ done: number; all: number } | null>(null);
  const [count, setCount] = useState(0);
  const send = useAction(async (files: File[]) => {
    setSent({ done: 0, all: files.length });
    try {
      for (const [at, file] of files.entries()) {
        await requests.addDocument(collection.id, file);
        setSent({ done: at + 1, all: files.length });
      }
    } finally {
      setCount((before) => before + 1);
      await onChanged();
    }
  });
  return (
    <>
      <Field label={t("knowledge.upload")} hint={t("knowledge.uploadHint")}>
        {(id, describedBy) => (
          <input
            key={count}
            id={id}
            type="file"
            multiple
            aria-describedby={describedBy}
            disabled={send.busy}
            onChange={(event) => void send.run([...(event.target.files ?? [])])}
          />
        )}
      </Field>
      {sent !== null && (
        <p role="status" className="hint">
          <progress value={sent.done} max={sent.all} /> {t("knowledge.sent", { done: sent.done, count: sent.all })}
        </p>
      )}
      <Problem text={send.error} />
    </>
  );
}

function Sharing({ collection, onChanged }: { collection: Collection; onChanged: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [user, setUser] = useState("");
  const share = useAction(async (name: string | null, isShared: boolean) => {
    await requests.shareCollection(collection.id, name, isShared);
    setUser("");
    await onChanged();
  });
  return (
    <details>
      <summary>{t("knowledge.sharing", { count: collection.readers.length + (collection.is_for_all ? 1 : 0) })}</summary>
      <label>
        <input type="checkbox" checked={collection.is_for_all} disabled={share.busy} onChange={(event) => void share.run(null, event.target.checked)} />{" "}
        {t("knowledge.forAll")}
      </label>
      <ul className={styles.stack}>
        {collection.readers.map((reader) => (
          <li key={reader} className={styles.plain}>
            {reader}{" "}
            <button type="button" disabled={share.busy} onClick={() => void share.run(reader, false)}>
              {t("knowledge.unshare", { name: reader })}
            </button>
          </li>
        ))}
      </ul>
      <form
        className={styles.formEnd}
        onSubmit={(event) => {
          event.preventDefault();
          void share.run(user.trim(), true);
        }}
      >
        <input required aria-label={t("knowledge.user")} placeholder={t("knowledge.user")} value={user} onChange={(event) => setUser(event.target.value)} />
        <button type="submit" disabled={share.busy}>
          {t("knowledge.share")}
        </button>
      </form>
      <Problem text={share.error} />
    </details>
  );
}
