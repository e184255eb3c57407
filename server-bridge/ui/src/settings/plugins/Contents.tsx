import { useTranslation } from "react-i18next";
import { plainly } from "../hookTexts";
import { Problems } from "../parts";
import type { Plugin, PluginPart } from "../types";
import styles from "../settings.module.css";
import layout from "../mcp/mcp.module.css";

/** The kinds of parts, beginning with those that run something. */
const KINDS = ["hooks", "servers", "commands", "skills", "roles", "unused"] as const;

const RUNS: readonly (typeof KINDS)[number][] = ["hooks", "servers"];

/** The parts of a plugin, folded by kind, and its problems. Parts that run something and unused parts are unfolded. */
export function Contents({ plugin, isUnfolded }: { plugin: Plugin; isUnfolded: boolean }) {
  const { t } = useTranslation("settings");
  const kinds = KINDS.filter((kind) => plugin[kind].length > 0);
  return (
    <>
      {kinds.map((kind) => (
        <details key={kind} open={isUnfolded && (RUNS.includes(kind) || kind === "unused")}>
          <summary>{t(`plugins.parts.${kind}`, { count: plugin[kind].length })}</summary>
          <ul className={styles.stack}>
            {plugin[kind].map((part, at) => (
              <Part key={at} part={part} runs={RUNS.includes(kind)} />
            ))}
          </ul>
        </details>
      ))}
      <Problems problems={plugin.problems} />
    </>
  );
}

/** A part. Its texts come from the plugin, which may not be trustworthy. */
function Part({ part: { name, about }, runs }: { part: PluginPart; runs: boolean }) {
  return (
    <li className={styles.plain}>
      <p className={styles.asWritten}>
        <strong>{plainly(name)}</strong>
      </p>
      {about !== "" && (runs ? <pre className={layout.whole}>{plainly(about)}</pre> : <p className={styles.asWritten}>{plainly(about)}</p>)}
    </li>
  );
}
