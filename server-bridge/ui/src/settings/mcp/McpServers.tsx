import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { useAppState } from "../../state/context";
import { Problem, Problems, Ready } from "../parts";
import { useRequests } from "../requests";
import { AddServer } from "./AddServer";
import { ServerCard } from "./ServerCard";
import styles from "../settings.module.css";
import layout from "./mcp.module.css";

/** The MCP servers that offer tools to the user's agents, each with its tools; and a form to add one. */
export default function McpServers() {
  const { t } = useTranslation("settings");
  const { settings } = useAppState("settings");
  const requests = useRequests();
  // Loaded again when another machine becomes the active one: its workspace has other servers, and its programs list other tools.
  const place = settings?.active_runner;
  const loaded = useLoaded(["mcp-servers"], requests.mcpServers, place);
  const [addedName, setAddedName] = useState<string | null>(null);
  // The card disappears with the server, so an error of the removal is shown here.
  const remove = useAction(async (name: string) => {
    await requests.removeMcpServer(name);
    await loaded.reload();
  });
  const own = (loaded.value?.servers ?? []).filter((server) => server.layer === "user");
  return (
    <>
      <section className={layout.list} aria-labelledby="mcp-servers">
        <h4 id="mcp-servers">{t("mcp.title")}</h4>
        <p className="hint">{t("mcp.about")}</p>
        <Ready loaded={loaded}>
          {({ servers, problems }) => (
            <>
              <Problems problems={problems} />
              {servers.length === 0 && <p className={styles.nothing}>{t("mcp.none")}</p>}
              <ul className={styles.cards}>
                {servers.map((server) => (
                  // A new key for a changed server discards a pending confirmation, which was for the server as shown before.
                  <ServerCard
                    key={JSON.stringify([place, server.layer, server.origin, server.name, server.hash])}
                    server={server}
                    onChanged={loaded.reload}
                    onRemove={() => void remove.run(server.name)}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={remove.error} />
      </section>
      <AddServer
        own={own}
        added={own.find((server) => server.name === addedName) ?? null}
        onAdded={async (name) => {
          await loaded.reload();
          setAddedName(name);
        }}
        onChecked={loaded.reload}
      />
    </>
  );
}
