import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { useAppState } from "../../state/context";
import { Problem, Problems, Ready } from "../parts";
import { useRequests } from "../requests";
import { AddTool } from "./AddTool";
import { ImportTools } from "./ImportTools";
import { ToolCard } from "./ToolCard";
import styles from "../settings.module.css";
import layout from "./http.module.css";

/** The HTTP tools of the user's agents; forms to add one, and to import those of a service. */
export default function HttpTools() {
  const { t } = useTranslation("settings");
  const { settings } = useAppState("settings");
  const requests = useRequests();
  // Loaded again for another active machine, whose workspace has other tools.
  const place = settings?.active_runner;
  const loaded = useLoaded(["http-tools"], requests.httpTools, place);
  const [edited, setEdited] = useState<{ document: string; at: number } | null>(null);
  // The card disappears with the tool, so an error of the removal is shown here.
  const remove = useAction(async (name: string) => {
    await requests.removeHttpTool(name);
    await loaded.reload();
  });
  const own = (loaded.value?.tools ?? []).filter((tool) => tool.layer === "user");
  return (
    <>
      <section className={layout.list} aria-labelledby="http-tools">
        <h4 id="http-tools">{t("http.title")}</h4>
        <p className="hint">{t("http.about")}</p>
        <Ready loaded={loaded}>
          {({ tools, problems }) => (
            <>
              <Problems problems={problems} />
              {tools.length === 0 && <p className={styles.nothing}>{t("http.none")}</p>}
              <ul className={styles.cards}>
                {tools.map((tool) => (
                  // A new key for a changed tool discards a pending confirmation, which was for the tool as shown before.
                  <ToolCard
                    key={JSON.stringify([place, tool.layer, tool.origin, tool.name, tool.hash])}
                    tool={tool}
                    onChanged={loaded.reload}
                    onEdit={() => setEdited((before) => ({ document: tool.document, at: (before?.at ?? 0) + 1 }))}
                    onRemove={() => void remove.run(tool.name)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={remove.error} />
      </section>
      <AddTool key={edited?.at} document={edited?.document ?? null} own={own} onSaved={loaded.reload} />
      <ImportTools onImported={loaded.reload} />
    </>
  );
}
