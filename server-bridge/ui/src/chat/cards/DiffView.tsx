import { diffLines } from "diff";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { FOLDED_BLANK_LINES } from "../../limits";
import type { Edit } from "../../types";
import styles from "./cards.module.css";

interface Line {
  kind: "same" | "added" | "removed";
  /** The line's numbers in the old and the new file; null if the line is not in that file. */
  old: number | null;
  new: number | null;
  text: string;
}

const SIGN = { same: " ", added: "+", removed: "−" } as const;

/** A tool's change to a file, line by line. */
export default function DiffView({ edit, path }: { edit: Edit; path: string }) {
  const { t } = useTranslation("chat");
  const lines = useMemo(() => folded(linesOf(edit), (count) => t("diff.blank", { count })), [edit, t]);
  return (
    <div className={styles.diff} role="group" tabIndex={0} aria-label={t("diff.label", { path })}>
      <table>
        <tbody>
          {lines.map((line, at) => (
            <tr key={at} className={styles[line.kind]}>
              <td className={styles.number}>{line.old}</td>
              <td className={styles.number}>{line.new}</td>
              <td className={styles.sign} aria-label={line.kind === "same" ? undefined : t(`diff.${line.kind}`)}>
                {SIGN[line.kind]}
              </td>
              <td className={styles.text}>{line.text}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {edit.is_cut && <p className="hint">{t("diff.cut")}</p>}
    </div>
  );
}

function linesOf(edit: Edit): Line[] {
  let [oldLine, newLine] = [edit.first_line, edit.first_line];
  return diffLines(edit.old ?? "", edit.new).flatMap((change) =>
    change.value.replace(/\n$/, "").split("\n").map((text): Line => {
      if (change.added) return { kind: "added", old: null, new: newLine++, text };
      if (change.removed) return { kind: "removed", old: oldLine++, new: null, text };
      return { kind: "same", old: oldLine++, new: newLine++, text };
    }),
  );
}

/** Replaces each long run of blank lines with a count, so that it does not push the rest out of sight. */
function folded(lines: Line[], words: (count: number) => string): Line[] {
  const shown: Line[] = [];
  let at = 0;
  while (at < lines.length) {
    const first = lines[at]!;
    let end = at;
    while (end < lines.length && lines[end]!.kind === first.kind && lines[end]!.text.trim() === "") end += 1;
    if (end - at >= FOLDED_BLANK_LINES) {
      shown.push({ ...first, text: words(end - at) });
      at = end;
    } else {
      shown.push(first);
      at += 1;
    }
  }
  return shown;
}
