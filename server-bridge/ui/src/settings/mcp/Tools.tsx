import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { plainly } from "../hookTexts";
import type { McpInstructions, McpServer, McpTool } from "../types";
import styles from "../settings.module.css";
import layout from "./mcp.module.css";

interface Props {
  server: McpServer;
  isUnfolded: boolean;
  onUnfold: (isUnfolded: boolean) => void;
  /** Called with the hash of the changes that were shown. */
  onAccept: (hash: string) => void;
}

/** The tools that a server listed, unfolded on demand. Changed tools are first, and are accepted here. */
export function Tools({ server, isUnfolded, onUnfold, onAccept }: Props) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const { tools, instructions, listed_at: listedAt, changes } = server;
  if (listedAt === null) return <p className="hint">{t("mcp.notListed")}</p>;
  const changed = tools.filter((tool) => tool.changed !== null);
  const hasNewInstructions = instructions !== null && instructions.changed !== null;
  return (
    <>
      {changed.length > 0 && <p className="caution">{t("mcp.changed", { count: changed.length })}</p>}
      {hasNewInstructions && <p className="caution">{t("mcp.instructionsChanged")}</p>}
      <details open={isUnfolded} onToggle={(event) => onUnfold(event.currentTarget.open)}>
        <summary>{t("mcp.tools", { count: tools.length })}</summary>
        {isUnfolded && (
          <div className={styles.stack}>
            <p className="hint" title={absolute(listedAt)}>
              {t("mcp.listed", { when: relative(listedAt, now) })}
            </p>
            {instructions !== null && <Said instructions={instructions} />}
            <List tools={changed} />
            {changes !== null && (
              <div className={styles.actions}>
                <ConfirmButton
                  // A new key discards a pending confirmation when the changes differ.
                  key={changes}
                  label={t("mcp.accept")}
                  name={t("mcp.acceptName", { name: plainly(server.name) })}
                  question={t("mcp.acceptQuestion")}
                  confirmLabel={t("mcp.accept")}
                  onConfirm={() => onAccept(changes)}
                />
              </div>
            )}
            <List tools={tools.filter((tool) => tool.changed === null)} />
          </div>
        )}
      </details>
    </>
  );
}

/** What the server says about its use, to models. It may not be trustworthy. */
function Said({ instructions: { text, changed } }: { instructions: McpInstructions }) {
  const { t } = useTranslation("settings");
  return (
    <div>
      <p className="hint">{t("mcp.instructions")}</p>
      <pre className={layout.whole}>{plainly(text)}</pre>
      {changed !== null && (
        <>
          <p className="hint">{t("mcp.newInstructions")}</p>
          <pre className={layout.whole}>{plainly(changed)}</pre>
        </>
      )}
    </div>
  );
}

function List({ tools }: { tools: McpTool[] }) {
  if (tools.length === 0) return null;
  return (
    <ul className={styles.stack}>
      {tools.map((tool, at) => (
        <Tool key={`${tool.name} ${at}`} tool={tool} />
      ))}
    </ul>
  );
}

/** A tool. Its texts come from the server, which may not be trustworthy. */
function Tool({ tool }: { tool: McpTool }) {
  const { t } = useTranslation("settings");
  return (
    <li className={styles.plain}>
      <p>
        <strong>{plainly(tool.tool)}</strong> <code className="hint">{plainly(tool.name)}</code>{" "}
        {tool.state !== "ready" && <span className={classes(marks.badge, marks.lacks)}>{t(`mcp.toolStates.${tool.state}`)}</span>}
      </p>
      {tool.problem !== null && <p className="caution">{plainly(tool.problem)}</p>}
      {tool.description !== "" && <p className={styles.asWritten}>{plainly(tool.description)}</p>}
      {tool.changed !== null && (
        <>
          <p className="hint">{t("mcp.before")}</p>
          <pre className={layout.whole}>{plainly(tool.definition)}</pre>
          <p className="hint">{t("mcp.after")}</p>
          <pre className={layout.whole}>{plainly(tool.changed)}</pre>
        </>
      )}
    </li>
  );
}
