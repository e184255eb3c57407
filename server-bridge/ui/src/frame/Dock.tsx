import { X } from "lucide-react";
import { Suspense } from "react";
import { useTranslation } from "react-i18next";
import { PANELS, type Panel } from "../panels";

/** The panel beside the chat; on a narrow page it covers the chat. */
export function Dock({ panel, onClose }: { panel: Panel["id"]; onClose: () => void }) {
  const { t } = useTranslation("panels");
  const { t: frame } = useTranslation("frame");
  const shown = PANELS.find((candidate) => candidate.id === panel);
  if (shown === undefined) return null;
  return (
    <aside className="dock" aria-label={t(shown.id)}>
      <header>
        <h2>{t(shown.id)}</h2>
        <button type="button" className="quiet icon" aria-label={frame("close")} onClick={onClose}>
          <X aria-hidden="true" />
        </button>
      </header>
      <Suspense fallback={<p className="hint">{frame("connecting")}</p>}>
        <shown.View />
      </Suspense>
    </aside>
  );
}
