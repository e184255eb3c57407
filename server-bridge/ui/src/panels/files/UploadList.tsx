import { RotateCw, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { bytesText } from "../size";
import { type UploadView, uploads } from "./uploads";
import styles from "./files.module.css";

/** The uploads to a place, with their progress. */
export function UploadList({ place }: { place: string }) {
  const { t } = useTranslation("panels");
  const all = useSyncExternalStore(uploads.subscribe, uploads.snapshot).filter((upload) => upload.place === place);
  const left = all.filter(({ state }) => state === "waiting" || state === "running").length;
  const done = all.filter(({ state }) => state === "done").length;
  return (
    <section className={styles.uploads} aria-label={t("file.uploads")} hidden={all.length === 0}>
      <header>
        <span role="status">{all.length > 0 && (left > 0 ? t("file.uploading", { left }) : t("file.uploaded", { done }))}</span>
        {left > 0 ? (
          <button type="button" className="quiet" onClick={() => uploads.cancelAll()}>
            {t("file.cancelAll")}
          </button>
        ) : (
          <button type="button" className="quiet" onClick={() => uploads.clear()}>
            {t("file.clear")}
          </button>
        )}
      </header>
      <ul>
        {all.map((upload) => (
          <UploadItem key={upload.id} upload={upload} />
        ))}
      </ul>
    </section>
  );
}

function UploadItem({ upload }: { upload: UploadView }) {
  const { t } = useTranslation("panels");
  const { id, path, size, sent, state, error } = upload;
  const isLeft = state === "waiting" || state === "running";
  return (
    <li data-testid="upload" data-state={state}>
      <span className={styles.name} title={path.text}>
        {path.text}
      </span>
      {isLeft && <progress aria-label={t("file.progressOf", { name: path.text })} max={Math.max(size, 1)} value={sent} />}
      <span className="hint">{isLeft ? `${bytesText(sent)} / ${bytesText(size)}` : t(`file.state.${state}`)}</span>
      {isLeft && (
        <button type="button" className="quiet icon" aria-label={t("file.cancelOf", { name: path.text })} onClick={() => uploads.cancel(id)}>
          <X aria-hidden="true" />
        </button>
      )}
      {(state === "failed" || state === "cancelled") && (
        <button type="button" className="quiet icon" aria-label={t("file.againOf", { name: path.text })} onClick={() => uploads.retry(id)}>
          <RotateCw aria-hidden="true" />
        </button>
      )}
      {error !== null && <span className="problem">{error}</span>}
    </li>
  );
}
