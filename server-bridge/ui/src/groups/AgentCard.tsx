import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { useAppState } from "../state/context";
import { placeName } from "../state/where";
import { AgentWorkspace } from "./AgentWorkspace";
import { useGroupRequests } from "./requests";
import { GRANT_MODES, type GrantMode, type Group, type GroupAgent, includes } from "./types";
import styles from "./groups.module.css";

interface Props {
  group: Group;
  agent: GroupAgent;
  /** Runs a request, and then reloads the group. */
  act: (work: () => Promise<unknown>) => void;
  onEdit: () => void;
}

/** An agent: its machine and its owner, who may ask it, and whether it is the lead. */
export function AgentCard({ group, agent, act, onEdit }: Props) {
  const { t } = useTranslation("groups");
  const { t: where } = useTranslation("where");
  const { t: modes } = useTranslation("chat");
  const { me } = useAppState("me");
  const requests = useGroupRequests();
  const { handle, owner, runner, online, approval, persona, chat_id: chatId } = agent;
  const isOwn = owner === me?.name;
  const isEditor = includes(group.access, "editor");
  const isLead = group.lead === handle;
  return (
    <li className={styles.card} data-testid="agent">
      <h3>
        @{handle} · {placeName(runner)} <span className={classes(marks.dot, online && marks.online)} role="img" aria-label={where(online ? "online" : "offline")} />
        {isLead && <span className={classes(marks.badge, marks.holds)}>{t("lead")}</span>}
      </h3>
      <p className="hint">
        {t("ownedBy", { owner })} · {t("approves", { mode: modes(`mode.${approval}`) })}
        {agent.model !== null && ` · ${agent.model}`}
      </p>
      {agent.tools !== null && <p className="hint">{t("onlyTools", { names: agent.tools.join(", ") })}</p>}
      {persona !== "" && <p className={styles.persona}>{persona}</p>}
      {isOwn && <AgentWorkspace group={group} agent={agent} />}
      {isOwn && <Grants group={group} agent={agent} act={act} />}
      <div className={styles.line}>
        {isEditor && (
          <button type="button" className="quiet" onClick={() => act(() => requests.setLead(group.id, isLead ? null : handle))} aria-label={t(isLead ? "noLeadName" : "makeLeadName", { handle })}>
            {t(isLead ? "noLead" : "makeLead")}
          </button>
        )}
        {isOwn && (
          <button type="button" className="quiet" onClick={onEdit} aria-label={t("editAgent", { handle })}>
            {t("edit")}
          </button>
        )}
        {chatId !== null && <a href={`#/chats/${chatId}`}>{t("itsChat")}</a>}
        {(isOwn || isEditor) && (
          <ConfirmButton
            label={t("remove")}
            name={t("removeName", { name: `@${handle}` })}
            question={t("removeAgentQuestion", { handle })}
            confirmLabel={t("remove")}
            onConfirm={() => act(() => requests.removeAgent(group.id, handle))}
          />
        )}
      </div>
    </li>
  );
}

/** The people besides the owner who may ask an agent, and the approval mode when they do. */
function Grants({ group, agent, act }: Omit<Props, "onEdit">) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const [mode, setMode] = useState<GrantMode>("ask");
  const { handle, owner, grants } = agent;
  const without = group.people.filter(({ name }) => name !== owner && !grants.some((grant) => grant.name === name));
  const [name, setName] = useState("");
  const chosen = without.some((person) => person.name === name) ? name : (without[0]?.name ?? "");
  return (
    <details>
      <summary>{t("mayAsk", { count: grants.length })}</summary>
      <ul className={styles.rows}>
        {grants.map((grant) => (
          <li key={grant.name}>
            <strong>{grant.name}</strong> <span className="hint">{t(`grants.${grant.mode}`)}</span>
            <button type="button" className="quiet danger" aria-label={t("revokeName", { name: grant.name, handle })} onClick={() => act(() => requests.removeGrant(group.id, handle, grant.name))}>
              {t("revoke")}
            </button>
          </li>
        ))}
      </ul>
      {without.length > 0 && (
        <div className={styles.line}>
          <select aria-label={t("personName")} value={chosen} onChange={(event) => setName(event.target.value)}>
            {without.map((person) => (
              <option key={person.name}>{person.name}</option>
            ))}
          </select>
          <select aria-label={t("grantMode")} value={mode} onChange={(event) => setMode(event.target.value as GrantMode)}>
            {GRANT_MODES.map((one) => (
              <option key={one} value={one}>
                {t(`grants.${one}`)}
              </option>
            ))}
          </select>
          <button type="button" onClick={() => act(() => requests.putGrant(group.id, handle, chosen, mode))}>
            {t("grantName", { name: chosen, handle })}
          </button>
        </div>
      )}
    </details>
  );
}
