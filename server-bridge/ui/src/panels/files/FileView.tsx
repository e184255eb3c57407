import { ArrowLeft, Download, Pencil, RefreshCw, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { DownloadLink } from "../../kit/DownloadLink";
import { useTimeWords } from "../../lib/useTimeWords";
import { FILE_PIECE_BYTES } from "../../limits";
import { bytesText } from "../size";
import { Editor } from "./Editor";
import { TextBody } from "./TextBody";
import { drafts } from "./keptDrafts";
import { type Path, nameOf } from "./path";
import { downloadUrl } from "./requests";
import { forEditing, lineEnds } from "./text";
import { type Content, type Loaded, useContent } from "./useContent";
import styles from "./files.module.css";

interface Props {
  place: string;
  owner: string;
  path: Path;
  /** Changes whenever a command or a tool ends. */
  finished: string;
  onClose: () => void;
  onSaved: () => void;
}

/** One file: its content, and the button to edit it. */
export function FileView({ place, owner, path, finished, onClose, onSaved }: Props) {
  const { t } = useTranslation("panels");
  const { loaded, error, busy, load } = useContent(place, path);
  const draft = drafts.of(owner, place, path);
  const [isEditing, setIsEditing] = useState(draft !== null);
  const content = loaded?.content;
  const offset = content?.kind === "piece" ? content.offset : 0;
  const shownFor = useRef(finished);
  useEffect(() => {
    // The file may have changed. While it is being edited, a conflict is reported when the user saves.
    if (shownFor.current === finished || isEditing) return;
    shownFor.current = finished;
    void load(offset);
  }, [finished, isEditing, load, offset]);

  const edit = () => {
    if (content?.kind !== "text") return;
    drafts.keep(owner, place, path, { text: forEditing(content.text), hash: content.hash, ends: lineEnds(content.text) });
    setIsEditing(true);
  };
  const stopEditing = (isSaved: boolean) => {
    drafts.keep(owner, place, path, null);
    setIsEditing(false);
    void load();
    if (isSaved) onSaved();
  };
  return (
    <section className={styles.fileView} aria-label={nameOf(path)} aria-busy={busy}>
      <header>
        <button type="button" className={`quiet icon ${styles.back}`} aria-label={t("file.back")} onClick={onClose}>
          <ArrowLeft aria-hidden="true" />
        </button>
        <div className={styles.fileFacts}>
          <h3 title={path.text}>{nameOf(path)}</h3>
          {loaded !== null && <Facts loaded={loaded} />}
        </div>
        {content?.kind === "text" && !isEditing && (
          <button type="button" className="quiet icon" aria-label={t("file.edit")} title={t("file.edit")} onClick={edit}>
            <Pencil aria-hidden="true" />
          </button>
        )}
        {!isEditing && (
          <button type="button" className="quiet icon" aria-label={t("file.reload")} title={t("file.reload")} onClick={() => void load(offset)}>
            <RefreshCw aria-hidden="true" />
          </button>
        )}
        <DownloadLink
          className="button quiet icon"
          address={downloadUrl(place, path, "file")}
          name={nameOf(path)}
          label={t("file.download", { name: nameOf(path) })}
        >
          <Download aria-hidden="true" />
        </DownloadLink>
        <button type="button" className={`quiet icon ${styles.close}`} aria-label={t("file.closeFile")} onClick={onClose}>
          <X aria-hidden="true" />
        </button>
      </header>
      {error !== null && (
        <p className={`problem ${styles.filesProblem}`} role="alert">
          {errorText(error)}
        </p>
      )}
      {isEditing && draft !== null ? (
        <Editor place={place} owner={owner} path={path} draft={draft} onEnd={stopEditing} onSaved={onSaved} />
      ) : (
        <>
          {busy && content === undefined && <p className={`hint ${styles.filesNone}`}>{t("file.loading")}</p>}
          {loaded !== null && content !== undefined && <Body path={path} size={loaded.stat.size} content={content} load={load} />}
        </>
      )}
    </section>
  );
}

function Facts({ loaded: { stat } }: { loaded: Loaded }) {
  const { absolute } = useTimeWords();
  const mode = stat.mode.toString(8).padStart(4, "0");
  return (
    <p className="hint">
      {bytesText(stat.size)} · <time dateTime={new Date(stat.modified_ms).toISOString()}>{absolute(stat.modified_ms)}</time> · {mode}
    </p>
  );
}

function Body({ path, size, content, load }: { path: Path; size: number; content: Content; load: (offset: number) => Promise<void> }) {
  const { t } = useTranslation("panels");
  switch (content.kind) {
    case "text":
      return <TextBody name={nameOf(path)} text={content.text} firstLine={1} />;
    case "piece":
      return (
        <>
          <Pieces size={size} content={content} load={load} />
          <TextBody name={nameOf(path)} text={content.text} firstLine={content.offset === 0 ? 1 : null} />
        </>
      );
    case "image":
      return (
        <div className={styles.fileImage}>
          <img src={content.address} alt={t("file.image", { name: nameOf(path) })} />
        </div>
      );
    case "binary":
      return <p className={`hint ${styles.filesNone}`}>{t("file.binary")}</p>;
    case "other":
      return <p className={`hint ${styles.filesNone}`}>{t("file.special")}</p>;
  }
}

/** Names the visible part of a large file, with buttons that show the other parts. */
function Pieces({ size, content, load }: { size: number; content: Extract<Content, { kind: "piece" }>; load: (offset: number) => Promise<void> }) {
  const { t } = useTranslation("panels");
  const { offset, length } = content;
  const last = Math.max(0, size - FILE_PIECE_BYTES);
  return (
    <div className={styles.filePieces}>
      <span className="hint" role="status">
        {t("file.piece", { from: bytesText(offset), to: bytesText(offset + length), size: bytesText(size) })}
      </span>
      <button type="button" disabled={offset === 0} onClick={() => void load(0)}>
        {t("file.begin")}
      </button>
      <button type="button" disabled={offset === 0} onClick={() => void load(Math.max(0, offset - FILE_PIECE_BYTES))}>
        {t("file.before")}
      </button>
      <button type="button" disabled={offset + length >= size} onClick={() => void load(offset + length)}>
        {t("file.after")}
      </button>
      <button type="button" disabled={offset + length >= size} onClick={() => void load(last)}>
        {t("file.end")}
      </button>
    </div>
  );
}
