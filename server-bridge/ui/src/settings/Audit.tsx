import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../api";
import { SEARCH_PAUSE_MS } from "../limits";
import { useSettled } from "../lib/useSettled";
import { useTimeWords } from "../lib/useTimeWords";
import { useAppState } from "../state/context";
import { Field, Problem } from "./parts";
import { type AuditFilter, useRequests } from "./requests";
import type { AuditEntry } from "./types";
import styles from "./settings.module.css";
import figures from "./figures.module.css";

/** Outcomes that need no attention. */
const FINE = ["ok", "allow"];

/** The audit trail: the user's own entries, or everyone's for an administrator. */
export default function Audit() {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const { me } = useAppState("me");
  const [filter, setFilter] = useState<AuditFilter>({ user: "", action: "" });
  const { entries, more, busy, error, loadMore } = useAudit(filter);
  return (
    <>
      <div className={styles.fields}>
        {me?.admin && (
          <Field label={t("audit.user")}>
            {(id) => (
              <input
                id={id}
                type="search"
                autoCapitalize="none"
                spellCheck={false}
                value={filter.user}
                onChange={(event) => setFilter({ ...filter, user: event.target.value })}
              />
            )}
          </Field>
        )}
        <Field label={t("audit.action")}>
          {(id) => (
            <input
              id={id}
              type="search"
              placeholder="file."
              autoCapitalize="none"
              spellCheck={false}
              value={filter.action}
              onChange={(event) => setFilter({ ...filter, action: event.target.value })}
            />
          )}
        </Field>
      </div>
      <Problem text={error} />
      {entries !== null && entries.length === 0 && <p className={styles.nothing}>{t("audit.none")}</p>}
      {entries !== null && entries.length > 0 && (
        <div className={figures.sheet} tabIndex={0} role="group" aria-label={t("sections.audit")}>
          <table className={figures.audit}>
            <thead>
              <tr>
                <th scope="col">{t("audit.at")}</th>
                <th scope="col">{t("audit.user")}</th>
                <th scope="col">{t("audit.action")}</th>
                <th scope="col">{t("audit.target")}</th>
                <th scope="col">{t("audit.outcome")}</th>
              </tr>
            </thead>
            <tbody>
              {entries.map((entry) => (
                <Row key={entry.id} entry={entry} at={absolute(entry.at)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more && (
        <button type="button" disabled={busy} onClick={loadMore}>
          {t("audit.more")}
        </button>
      )}
    </>
  );
}

function Row({ entry, at }: { entry: AuditEntry; at: string }) {
  return (
    <tr>
      <td className={figures.at}>{at}</td>
      <td className={figures.who}>{entry.user}</td>
      <td className={figures.action}>
        <code>{entry.action}</code>
      </td>
      <td className={figures.target}>
        {entry.target}
        {entry.location && <span className="hint"> {entry.location}</span>}
      </td>
      <td className={`${figures.outcome} ${FINE.includes(entry.outcome) ? "hint" : "caution"}`}>{entry.outcome}</td>
    </tr>
  );
}

/** The trail in pages, starting with its newest entries whenever the filter changes. */
function useAudit(filter: AuditFilter) {
  const requests = useRequests();
  const wanted = useSettled(filter, SEARCH_PAUSE_MS);
  const { data, error, isFetching, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["audit", wanted],
    queryFn: ({ pageParam }) => requests.audit(wanted, pageParam),
    initialPageParam: null as number | null,
    getNextPageParam: (page) => (page.more ? (page.entries.at(-1)?.id ?? null) : null),
    placeholderData: keepPreviousData,
  });
  return {
    entries: data?.pages.flatMap((page) => page.entries) ?? null,
    more: hasNextPage,
    busy: isFetching,
    error: error === null ? null : errorText(error),
    loadMore: () => void fetchNextPage(),
  };
}
