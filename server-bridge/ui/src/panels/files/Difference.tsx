import { structuredPatch } from "diff";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import styles from "./files.module.css";

const CONTEXT_LINES = 3;

/** A line-by-line view of the changes that saving would make. */
export default function Difference({ theirs, mine }: { theirs: string; mine: string }) {
  const { t } = useTranslation("panels");
  const hunks = useMemo(() => structuredPatch("", "", theirs, mine, "", "", { context: CONTEXT_LINES }).hunks, [theirs, mine]);
  if (hunks.length === 0) return <p className="hint">{t("file.noDifference")}</p>;
  return (
    <pre className={styles.difference} data-testid="difference" tabIndex={0} aria-label={t("file.difference")}>
      {hunks.map((hunk) => (
        <div key={hunk.oldStart}>
          <span className="hint">{`@@ ${hunk.oldStart} @@\n`}</span>
          {hunk.lines.map((line, index) => (
            <span key={index} className={line.startsWith("+") ? styles.added : line.startsWith("-") ? styles.removed : undefined}>
              {`${line}\n`}
            </span>
          ))}
        </div>
      ))}
    </pre>
  );
}
