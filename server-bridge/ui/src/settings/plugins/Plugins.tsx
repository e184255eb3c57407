import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import { InstallPlugin } from "./InstallPlugin";
import { Offers } from "./Offers";
import { PluginCard } from "./PluginCard";
import styles from "../settings.module.css";
import layout from "../mcp/mcp.module.css";

/** The user's plugins, a form to install a plugin or another copy of one, and the plugins on offer. */
export default function Plugins() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["plugins"], requests.plugins);
  // The source of the offer chosen last, and the number of choices so far.
  const [chosen, setChosen] = useState({ source: "", count: 0 });
  const choose = (source: string) => setChosen(({ count }) => ({ source, count: count + 1 }));
  // The card disappears with the plugin, so an error of the removal is shown here.
  const remove = useAction(async (name: string) => {
    await requests.removePlugin(name);
    await loaded.reload();
  });
  return (
    <>
      <section className={layout.list} aria-labelledby="plugins">
        <h4 id="plugins">{t("plugins.title")}</h4>
        <p className="hint">{t("plugins.about")}</p>
        <Ready loaded={loaded}>
          {({ plugins }) => (
            <>
              {plugins.length === 0 && <p className={styles.nothing}>{t("plugins.none")}</p>}
              <ul className={styles.cards}>
                {plugins.map((plugin) => (
                  // A new key for another copy discards a pending confirmation of the removal.
                  <PluginCard
                    key={`${plugin.name} ${plugin.hash}`}
                    plugin={plugin}
                    onChanged={loaded.reload}
                    onChosen={choose}
                    onRemove={() => void remove.run(plugin.name)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={remove.error} />
      </section>
      <InstallPlugin key={chosen.count} chosen={chosen.source} onInstalled={loaded.reload} />
      <Offers onChosen={choose} />
    </>
  );
}
