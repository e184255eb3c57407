import { AlertDialog } from "radix-ui";
import { useTranslation } from "react-i18next";
import styles from "./Dialog.module.css";

interface Props {
  question: string;
  note: string;
  confirmLabel: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks in a dialog before an action that cannot be undone; open while mounted. */
export function ConfirmDialog({ question, note, confirmLabel, onConfirm, onClose }: Props) {
  const { t } = useTranslation("frame");
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <div className={styles.dialogShade} aria-hidden="true" />
        <AlertDialog.Content className={`${styles.dialog} ${styles.window} ${styles.question}`} aria-modal="true">
          <AlertDialog.Title>{question}</AlertDialog.Title>
          <AlertDialog.Description className="hint">{note}</AlertDialog.Description>
          <div className={styles.questionButtons}>
            <AlertDialog.Cancel>{t("keep")}</AlertDialog.Cancel>
            <AlertDialog.Action className="danger" onClick={onConfirm}>
              {confirmLabel}
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
