import { memo } from "react";
import { runsOf } from "../../lib/colours";
import styles from "./Coloured.module.css";

/** Terminal output with its colours; `style` is the style at its beginning. */
export const Coloured = memo(function Coloured({ text, style = "" }: { text: string; style?: string | undefined }) {
  if (style === "" && !text.includes("\u001b")) return text;
  return runsOf(text, style).map((run, at) =>
    run.style === "" ? (
      run.text
    ) : (
      <span key={at} className={run.style.split(" ").map((name) => styles[name]).join(" ")}>
        {run.text}
      </span>
    ),
  );
});
