import { useTranslation } from "react-i18next";
import { useLoaded } from "../lib/useLoaded";
import { useTimeWords } from "../lib/useTimeWords";
import { Ready } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";

/** The software that this page contains, by licence. */
const LICENCES: { licence: string; parts: string }[] = [
  {
    licence: "MIT",
    parts: "React, Radix UI, cmdk, react-markdown, remark-gfm, remark-math, rehype-highlight, react-virtuoso, KaTeX, Mermaid, xterm.js, openapi-fetch, TanStack Query, i18next",
  },
  { licence: "BSD-3-Clause", parts: "highlight.js, jsdiff" },
  { licence: "ISC", parts: "Lucide" },
];

/** The display names of the databases. */
const STORAGE: Record<string, string> = { sqlite: "SQLite", postgres: "PostgreSQL" };

export default function About() {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const requests = useRequests();
  const loaded = useLoaded(["about"], requests.about);
  const word = (yes: boolean) => t(yes ? "server.yes" : "server.no");
  return (
    <>
      <Ready loaded={loaded}>
        {(about) => (
          <dl className={`${styles.facts} ${styles.card}`}>
            {[
              [t("server.version"), `Sandbridge ${about.version}`],
              [t("server.started"), absolute(about.started_at)],
              [t("server.storage"), STORAGE[about.storage] ?? about.storage],
              [t("server.users"), about.users === null ? null : String(about.users)],
              [t("server.model"), word(about.model_configured)],
              [t("server.docker"), word(about.docker)],
              [t("server.local"), word(about.local)],
              [t("server.tls"), word(about.tls)],
              [t("server.sealed"), word(about.sealed)],
            ].map(
              ([name, value]) =>
                value && (
                  <div key={name}>
                    <dt>{name}</dt>
                    <dd>{value}</dd>
                  </div>
                ),
            )}
          </dl>
        )}
      </Ready>
      <h4>{t("server.docs")}</h4>
      <ul className={styles.plain}>
        <li>
          <a href="/api/v1/openapi.json" target="_blank" rel="noopener noreferrer">
            {t("server.api")}
          </a>
        </li>
        <li>
          {t("server.mcp")} <code>{`${window.location.origin}/mcp`}</code>
        </li>
        <li>
          {t("server.inChat")} <code>/help</code>
        </li>
      </ul>
      <h4>{t("server.licences")}</h4>
      <p>{t("server.own")}</p>
      <dl className={styles.facts}>
        {LICENCES.map(({ licence, parts }) => (
          <div key={licence}>
            <dt>{licence}</dt>
            <dd>{parts}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
