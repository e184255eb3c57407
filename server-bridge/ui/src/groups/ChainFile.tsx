import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { Problem } from "../settings/parts";
import { useGroupRequests } from "./requests";
import type { ChainText } from "./types";
import styles from "./groups.module.css";

interface Props {
  group: number;
  /** The caller's own agents, by handle. */
  agents: string[];
  onRead: (read: ChainText) => void;
}

/** Reads a chain's text from a file in the workspace of one's own agent. Nothing is stored. */
export function ChainFile({ group, agents, onRead }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [agent, setAgent] = useState(agents[0] ?? "");
  const [path, setPath] = useState("");
  const read = useAction(async () => onRead(await requests.chainText(group, { file: { agent, path: path.trim() } })));
  if (agents.length === 0) return null;
  return (
    <div>
      <div className={styles.line}>
        <label>
          {t("chainFile")}{" "}
          <input autoCapitalize="none" spellCheck={false} placeholder="chains/story.md" value={path} onChange={(event) => setPath(event.target.value)} />
        </label>
        <label>
          {t("workspaceOf")}{" "}
          <select value={agent} onChange={(event) => setAgent(event.target.value)}>
            {agents.map((handle) => (
              <option key={handle} value={handle}>
                @{handle}
              </option>
            ))}
          </select>
        </label>
        <button type="button" disabled={path.trim() === "" || read.busy} onClick={() => void read.run()}>
          {t("readFile")}
        </button>
      </div>
      <Problem text={read.error} />
    </div>
  );
}
