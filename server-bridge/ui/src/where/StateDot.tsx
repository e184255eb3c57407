import { useTranslation } from "react-i18next";
import type { PlaceState } from "../state/where";

/** A coloured dot; the word behind it is for screen readers and on hover. */
export function StateDot({ state }: { state: PlaceState }) {
  const { t } = useTranslation("where");
  return <span className={`dot ${state}`} role="img" aria-label={t(state)} title={t(state)} />;
}
