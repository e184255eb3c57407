import { type KeyboardEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../../api";
import { useAction } from "../../lib/useAction";
import { Conflict, type Theirs } from "./Conflict";
import type { Draft } from "./drafts";
import { drafts } from "./keptDrafts";
import { type Path, nameOf } from "./path";
import { files } from "./requests";
import { sha256Hex } from "./sha256";
import { forEditing, forFile } from "./text";
import { readNow } from "./useContent";
import styles from "./files.module.css";

interface Props {
  place: string;
  owner: string;
  path: Path;
  draft: Draft;
  /** Called when the draft is no longer needed: it was saved or discarded. */
  onEnd: (isSaved: boolean) => void;
  onSaved: () => void;
}

/**
 * Edits a text. It is saved only if the file still contains the text that was opened; if not, both are shown and nothing is lost.
 * Every keystroke is kept until it is saved or deliberately discarded.
 */
export function Editor({ place, owner, path, draft, onEnd, onSaved }: Props) {
  const { t } = useTranslation("panels");
  const [theirs, setTheirs] = useState<Theirs | null>(null);
  const [isDiscarding, setIsDiscarding] = useState(false);
  const [note, setNote] = useState<string | null>(null);
  const keep = (change: Partial<Draft>) => drafts.keep(owner, place, path, { ...draft, ...change });

  const write = async (over: string | null, isLast: boolean) => {
    const bytes = new TextEncoder().encode(forFile(draft.text, draft.ends));
    await files.write(place, path, bytes, over);
    setTheirs(null);
    const hash = await sha256Hex(bytes);
    // Text typed while saving is not saved yet.
    const now = drafts.of(owner, place, path);
    if (isLast && (now === null || now.text === draft.text)) return onEnd(true);
    if (now !== null) drafts.keep(owner, place, path, { ...now, hash, ends: draft.ends === "mixed" ? "lf" : draft.ends });
    setNote(t("file.saved"));
    onSaved();
  };
  const save = useAction(async (isLast: boolean) => {
    setNote(null);
    try {
      await write(draft.hash, isLast);
    } catch (error) {
      if (!isConflict(error)) throw error;
      setTheirs({ now: await readNow(place, path) });
    }
  });
  const overwrite = useAction(async (seen: Theirs) => {
    try {
      // Only content that the user has seen is overwritten.
      await write(seen.now?.hash ?? null, true);
    } catch (error) {
      if (!isConflict(error)) throw error;
      setTheirs({ now: await readNow(place, path) });
      throw new Error(t("file.changedAgain"));
    }
  });
  const takeTheirs = (now: { text: string; hash: string }) => {
    keep({ text: forEditing(now.text), hash: now.hash });
    setTheirs(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void save.run(false);
  };
  const busy = save.busy || overwrite.busy;
  return (
    <div className={styles.fileEditor} onKeyDown={onKeyDown}>
      {draft.ends === "mixed" && <p className={`caution ${styles.filesProblem}`}>{t("file.mixedEnds")}</p>}
      {theirs !== null && (
        <Conflict
          mine={draft.text}
          theirs={theirs}
          busy={busy}
          onOverwrite={() => void overwrite.run(theirs)}
          onReload={takeTheirs}
          onGoOn={() => setTheirs(null)}
        />
      )}
      <textarea
        aria-label={t("file.textOf", { name: nameOf(path) })}
        value={draft.text}
        spellCheck={false}
        autoFocus
        onChange={(event) => keep({ text: event.target.value })}
      />
      <div className={styles.fileButtons}>
        <button type="button" className="primary" disabled={busy} title="Ctrl+S" onClick={() => void save.run(true)}>
          {t("file.save")}
        </button>
        {isDiscarding ? (
          <div role="group" aria-label={t("file.discardQuestion")}>
            <span>{t("file.discardQuestion")}</span>
            <button type="button" className="danger" onClick={() => onEnd(false)}>
              {t("file.discard")}
            </button>
            <button type="button" className="quiet" autoFocus onClick={() => setIsDiscarding(false)}>
              {t("file.keep")}
            </button>
          </div>
        ) : (
          <button type="button" className="quiet" onClick={() => setIsDiscarding(true)}>
            {t("file.stopEditing")}
          </button>
        )}
        <span className="hint" role="status">
          {note}
        </span>
        <span className="problem" role="alert">
          {save.error ?? overwrite.error}
        </span>
      </div>
    </div>
  );
}

const PRECONDITION_FAILED = 412;

function isConflict(error: unknown): boolean {
  return error instanceof ApiError && error.status === PRECONDITION_FAILED;
}
