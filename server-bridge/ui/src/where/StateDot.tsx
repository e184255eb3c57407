import { useTranslation } from "react-i18next";
import type { PlaceState } from "../state/where";
import { classes } from "../lib/classes";
import marks from "../kit/marks.module.css";

/** A coloured dot, with its meaning as a text for screen readers and on hover. */
export function StateDot({ state }: { state: PlaceState }) {
  const { t } = useTranslation("where");
  return <span className={classes(marks.dot, marks[state])} role="img" aria-label={t(state)} title={t(state)} />;
}
