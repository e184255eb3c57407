import { useTranslation } from "react-i18next";
import { classes } from "../../lib/classes";
import { PLUGIN_CHANGES_COUNT } from "../../limits";
import { plainly, shortHash } from "../hookTexts";
import type { Plugin } from "../types";
import { Contents } from "./Contents";
import styles from "../settings.module.css";

/** A plugin that is not installed yet: everything that it would run, and its differences from the installed copy. */
export function LookedAt({ plugin }: { plugin: Plugin }) {
  const { t } = useTranslation("settings");
  return (
    <section className={styles.stack} aria-labelledby="looked-at-plugin">
      <h4 id="looked-at-plugin">
        {plainly(plugin.name)} {plainly(plugin.version)}
      </h4>
      {plugin.description !== "" && <p className={styles.asWritten}>{plainly(plugin.description)}</p>}
      <p className={classes("hint", styles.asWritten)}>{t("plugins.origin", { source: plainly(plugin.source), hash: shortHash(plugin.hash) })}</p>
      <p>{t(plugin.hooks.length + plugin.servers.length > 0 ? "plugins.runs" : "plugins.runsNothing")}</p>
      <Contents plugin={plugin} isUnfolded={true} />
      <Difference plugin={plugin} />
    </section>
  );
}

function Difference({ plugin: { replaces, hash } }: { plugin: Plugin }) {
  const { t } = useTranslation("settings");
  if (replaces === null) return null;
  if (replaces.hash === hash) return <p className="hint">{t("plugins.same")}</p>;
  return (
    <div className="caution">
      <p>{t("plugins.replaces", { version: plainly(replaces.version), hash: shortHash(replaces.hash) })}</p>
      <ul className={styles.asWritten}>
        {replaces.files.map((file) => (
          <li key={file}>{plainly(file)}</li>
        ))}
      </ul>
      {replaces.files.length >= PLUGIN_CHANGES_COUNT && <p>{t("plugins.moreFiles", { count: PLUGIN_CHANGES_COUNT })}</p>}
    </div>
  );
}
