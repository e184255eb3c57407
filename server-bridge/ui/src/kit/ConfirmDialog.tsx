import { AlertDialog } from "radix-ui";
import { useTranslation } from "react-i18next";

interface Props {
  question: string;
  note: string;
  confirmLabel: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Asks over the page before something that cannot be undone; open as long as it is there. */
export function ConfirmDialog({ question, note, confirmLabel, onConfirm, onClose }: Props) {
  const { t } = useTranslation("frame");
  return (
    <AlertDialog.Root open onOpenChange={(open) => !open && onClose()}>
      <AlertDialog.Portal>
        <div className="dialog-shade" aria-hidden="true" />
        <AlertDialog.Content className="dialog window question" aria-modal="true">
          <AlertDialog.Title>{question}</AlertDialog.Title>
          <AlertDialog.Description className="hint">{note}</AlertDialog.Description>
          <div className="question-buttons">
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
