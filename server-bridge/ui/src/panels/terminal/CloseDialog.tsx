import { useTranslation } from "react-i18next";
import { Dialog } from "../../kit/Dialog";
import { placeName } from "../../state/where";
import type { TerminalView } from "./session";
import dialogs from "../../kit/Dialog.module.css";

interface Props {
  view: TerminalView;
  onEnd: () => void;
  onLeave: () => void;
  onKeep: () => void;
}

/** Asks what to do with the shell of a terminal that is being closed. */
export function CloseDialog({ view, onEnd, onLeave, onKeep }: Props) {
  const { t } = useTranslation("panels");
  return (
    <Dialog title={t("term.closeTitle")} onClose={onKeep}>
      <div className={dialogs.dialogBody}>
        <p>{t("term.closeText", { place: view.place === null ? t("term.itsPlace") : placeName(view.place) })}</p>
        <div className={dialogs.dialogButtons}>
          <button type="button" className="danger" onClick={onEnd}>
            {t("term.closeEnd")}
          </button>
          <button type="button" onClick={onLeave}>
            {t("term.closeLeave")}
          </button>
          <button type="button" className="quiet" onClick={onKeep}>
            {t("term.closeKeep")}
          </button>
        </div>
      </div>
    </Dialog>
  );
}
