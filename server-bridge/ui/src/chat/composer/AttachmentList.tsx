import { LoaderCircle, Paperclip, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Attached } from "./useAttachments";
import styles from "./composer.module.css";

interface Props {
  attached: Attached[];
  onRemove: (key: number) => void;
}

/** The attachments of the next message. */
export function AttachmentList({ attached, onRemove }: Props) {
  const { t } = useTranslation("chat");
  if (attached.length === 0) return null;
  return (
    <ul className={styles.attachments} aria-label={t("attach.list")}>
      {attached.map(({ key, name, file }) => (
        <li key={key} aria-busy={file === null}>
          {file === null ? <LoaderCircle className={styles.turning} aria-hidden="true" /> : <Paperclip aria-hidden="true" />}
          <span aria-label={file === null ? t("attach.uploading", { name }) : undefined}>{name}</span>
          <button type="button" className="quiet icon small" aria-label={t("attach.remove", { name })} onClick={() => onRemove(key)}>
            <X aria-hidden="true" />
          </button>
        </li>
      ))}
    </ul>
  );
}
