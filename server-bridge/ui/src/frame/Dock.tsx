import { X } from "lucide-react";
import { type KeyboardEvent, type PointerEvent, Suspense } from "react";
import { useTranslation } from "react-i18next";
import { DOCK_MAX_PX, DOCK_MIN_PX, DOCK_STEP_PX } from "../limits";
import { PANELS, type Panel } from "../panels";
import { useKept } from "./useKept";
import styles from "./frame.module.css";

/** The panel next to the chat; on a narrow page it covers the chat. */
export function Dock({ panel, onClose }: { panel: Panel["id"]; onClose: () => void }) {
  const { t } = useTranslation("panels");
  const { t: frame } = useTranslation("frame");
  const [kept, keep] = useKept("sandbridge.dock", null);
  const shown = PANELS.find((candidate) => candidate.id === panel);
  if (shown === undefined) return null;
  const width = Number(kept);
  return (
    <aside className={styles.dock} aria-label={t(shown.id)} style={width > 0 ? { width: clamp(width) } : undefined}>
      <Edge label={frame("resize")} width={clamp(width > 0 ? width : window.innerWidth / 2)} onWidth={(px) => keep(String(clamp(px)))} />
      <header>
        <h2>{t(shown.id)}</h2>
        <button type="button" className="quiet icon" aria-label={frame("close")} onClick={onClose}>
          <X aria-hidden="true" />
        </button>
      </header>
      <Suspense fallback={<p className={`hint ${styles.dockWait}`}>{frame("connecting")}</p>}>
        <shown.View />
      </Suspense>
    </aside>
  );
}

function clamp(px: number): number {
  return Math.round(Math.min(DOCK_MAX_PX, Math.max(DOCK_MIN_PX, px)));
}

/** The dock's left edge, which can be dragged, or moved with the arrow keys. */
function Edge({ label, width, onWidth }: { label: string; width: number; onWidth: (px: number) => void }) {
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    const dock = event.currentTarget.parentElement;
    if (dock === null || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    onWidth(dock.getBoundingClientRect().right - event.clientX);
  };
  const step = (event: KeyboardEvent<HTMLDivElement>) => {
    const by = event.key === "ArrowLeft" ? DOCK_STEP_PX : event.key === "ArrowRight" ? -DOCK_STEP_PX : 0;
    const dock = event.currentTarget.parentElement;
    if (by === 0 || dock === null) return;
    event.preventDefault();
    onWidth(dock.getBoundingClientRect().width + by);
  };
  return (
    <div
      className={styles.dockEdge}
      role="separator"
      aria-orientation="vertical"
      aria-valuenow={width}
      aria-valuemin={DOCK_MIN_PX}
      aria-valuemax={DOCK_MAX_PX}
      aria-label={label}
      tabIndex={0}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={drag}
      onKeyDown={step}
    />
  );
}
