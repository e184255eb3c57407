import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { Markdown } from "../chat/markdown/Markdown";
import { useAction } from "../lib/useAction";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem } from "../settings/parts";
import { useAppState } from "../state/context";
import { placeName } from "../state/where";
import { GroupComposer } from "./GroupComposer";
import { useGroupRequests } from "./requests";
import { type Call, type Entry, type Group, includes } from "./types";
import { useOfGroup } from "./useGroups";
import styles from "./groups.module.css";

/** The group's log: messages of people and agents, current calls of agents, and the field for writing. */
export function GroupLog({ group }: { group: Group }) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const newest = useOfGroup(group.id, "entries", () => requests.entries(group.id));
  const calls = useOfGroup(group.id, "calls", () => requests.calls(group.id));
  const [older, setOlder] = useState<{ entries: Entry[]; more: boolean } | null>(null);
  const entries = useMemo(() => joined(older?.entries ?? [], newest.value?.entries ?? []), [older, newest.value]);
  const hasMore = older === null ? (newest.value?.more ?? false) : older.more;
  const loadOlder = useAction(async () => {
    const page = await requests.entries(group.id, entries[0]?.id);
    setOlder({ entries: joined(page.entries, entries), more: page.more });
  });
  const end = useRef<HTMLDivElement>(null);
  const last = entries.at(-1)?.id;
  useEffect(() => {
    // `void`, since newer browsers return a promise, which is not a clean-up function.
    void end.current?.scrollIntoView({ block: "end" });
  }, [last]);
  const open = (calls.value ?? []).filter((call) => call.ended_at === null);
  return (
    <>
      <div className={styles.log}>
        <div className={styles.column}>
          {hasMore && (
            <button type="button" className="quiet" disabled={loadOlder.busy} onClick={() => void loadOlder.run()}>
              {t("older")}
            </button>
          )}
          <Problem text={loadOlder.error ?? newest.error} />
          {newest.value !== null && entries.length === 0 && <p className="hint">{group.agents.length === 0 ? t("noAgents") : t("nothingSaid")}</p>}
          <ol className={styles.entries} aria-label={t("part.log")}>
            {entries.map((entry) => (
              <EntryItem key={entry.id} entry={entry} group={group} />
            ))}
          </ol>
          <Calls calls={open} group={group} />
          <div ref={end} />
        </div>
      </div>
      <div className={styles.foot}>
        <GroupComposer group={group} onPosted={newest.reload} />
      </div>
    </>
  );
}

/** Joins two parts of the log in order, without duplicates. */
function joined(before: Entry[], after: Entry[]): Entry[] {
  const first = after[0]?.id ?? Infinity;
  return [...before.filter((entry) => entry.id < first), ...after];
}

function EntryItem({ entry, group }: { entry: Entry; group: Group }) {
  const { t } = useTranslation("groups");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const agent = entry.kind === "agent" ? group.agents.find((candidate) => candidate.handle === entry.author) : undefined;
  return (
    <li className={styles.entry} data-testid="entry" data-kind={entry.kind}>
      {entry.kind !== "server" && (
        <p className={styles.author}>
          <strong>{entry.kind === "agent" ? `@${entry.author}` : entry.author}</strong>
          {agent !== undefined && <span className="hint"> · {placeName(agent.runner)}</span>}{" "}
          <time className="hint" dateTime={new Date(entry.created_at).toISOString()} title={absolute(entry.created_at)}>
            {relative(entry.created_at, now)}
          </time>
        </p>
      )}
      {entry.kind === "server" ? <p className="hint">{entry.text}</p> : <Markdown text={entry.text} />}
      {entry.asks.length > 0 && <p className="hint">{t("asks", { agents: entry.asks.map((handle) => `@${handle}`).join(", ") })}</p>}
    </li>
  );
}

/** The calls of agents that are not answered yet. */
function Calls({ calls, group }: { calls: Call[]; group: Group }) {
  const { t } = useTranslation("groups");
  const { me } = useAppState("me");
  const requests = useGroupRequests();
  const stop = useAction((call: number) => requests.cancelCall(group.id, call));
  if (calls.length === 0) return null;
  const asker = (call: Call) => (call.by_agent === null ? call.asked_by : t("askedFor", { agent: `@${call.by_agent}`, person: call.asked_by }));
  const owns = (call: Call) => group.agents.some((agent) => agent.handle === call.agent && agent.owner === me?.name);
  const mayStop = (call: Call) => call.asked_by === me?.name || owns(call) || includes(group.access, "editor");
  return (
    <section aria-label={t("atWork")}>
      <ul className={styles.calls} role="status">
        {calls.map((call) => (
          <li key={call.id} data-testid="call" data-state={call.state}>
            <span>
              {t(`calls.${call.state}`, { agent: `@${call.agent}`, place: placeName(call.runner), person: asker(call) })}
              {call.reason !== "" && <span className="hint"> {call.reason}</span>}
            </span>
            {mayStop(call) && (
              <button type="button" className="quiet" aria-label={t("stopAgent", { agent: `@${call.agent}` })} onClick={() => void stop.run(call.id)}>
                {t("stop")}
              </button>
            )}
          </li>
        ))}
      </ul>
      <Problem text={stop.error} />
    </section>
  );
}
