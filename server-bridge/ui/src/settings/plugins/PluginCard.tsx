import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useAction } from "../../lib/useAction";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { plainly, shortHash } from "../hookTexts";
import { Problem } from "../parts";
import { useRequests } from "../requests";
import type { Plugin } from "../types";
import { Contents } from "./Contents";
import styles from "../settings.module.css";

interface Props {
  plugin: Plugin;
  onChanged: () => Promise<void>;
  /** Called with the plugin's source, to inspect the copy that the source has now. */
  onChosen: (source: string) => void;
  onRemove: () => void;
}

/** One plugin: its state, its source and its parts. */
export function PluginCard({ plugin, onChanged, onChosen, onRemove }: Props) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const requests = useRequests();
  const change = useAction(async () => {
    await requests.letPluginBeUsed(plugin.name, !plugin.enabled);
    await onChanged();
  });
  const share = useAction(async () => {
    await requests.sharePlugin(plugin.name, !plugin.shared);
    await onChanged();
  });
  const { enabled, shared, installed_at: installedAt } = plugin;
  const name = plainly(plugin.name);
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {name} {plainly(plugin.version)}{" "}
          <span className={classes(marks.badge, enabled ? marks.holds : undefined)}>{t(enabled ? "plugins.used" : "plugins.notUsed")}</span>{shared && <span className={marks.badge}>{t("plugins.shared")}</span>}
        </h4>
        {installedAt !== null && (
          <span className="hint" title={absolute(installedAt)}>
            {t("plugins.installedAt", { ago: relative(installedAt, now) })}
          </span>
        )}
      </header>
      {plugin.description !== "" && <p className={styles.asWritten}>{plainly(plugin.description)}</p>}
      <p className={classes("hint", styles.asWritten)}>{t("plugins.origin", { source: plainly(plugin.source), hash: shortHash(plugin.hash) })}</p>
      {plugin.has_update && (
        <p>
          {t("plugins.hasUpdate")}{" "}
          <button type="button" className="quiet" aria-label={t("plugins.lookAtName", { name: plainly(plugin.source) })} onClick={() => onChosen(plugin.source)}>
            {t("plugins.look")}
          </button>
        </p>
      )}
      <Contents plugin={plugin} isUnfolded={false} />
      <div className={styles.actions}>
        <button
          type="button"
          className="quiet"
          aria-label={t(enabled ? "plugins.disableName" : "plugins.enableName", { name })}
          disabled={change.busy}
          onClick={() => void change.run()}
        >
          {t(enabled ? "plugins.disable" : "plugins.enable")}
        </button>
        {shared ? (
          <button type="button" className="quiet" aria-label={t("plugins.unshareName", { name })} disabled={share.busy} onClick={() => void share.run()}>
            {t("plugins.unshare")}
          </button>
        ) : (
          <ConfirmButton
            label={t("plugins.share")}
            name={t("plugins.shareName", { name })}
            question={t("plugins.shareQuestion", { name })}
            confirmLabel={t("plugins.share")}
            onConfirm={() => void share.run()}
          />
        )}
        <ConfirmButton
          label={t("remove")}
          name={t("plugins.removeName", { name })}
          question={t("plugins.removeQuestion", { name })}
          confirmLabel={t("remove")}
          onConfirm={onRemove}
        />
      </div>
      <Problem text={change.error ?? share.error} />
    </li>
  );
}
