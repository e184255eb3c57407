import { type FormEvent, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { plainly } from "../hookTexts";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { FoundPassages, KnowledgePage } from "../types";
import { around, type Citation, citationOf, takeCitation } from "../../lib/citation";
import styles from "../settings.module.css";
import layout from "../mcp/mcp.module.css";

interface Opened {
  citation: Citation;
  document: KnowledgePage;
}

/** Searches all collections, shows why each passage was found, and opens it on its page. A pasted citation is opened as well. */
export function SearchBox() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<FoundPassages | null>(null);
  const [opened, setOpened] = useState<Opened | null>(null);
  const open = useAction(async (citation: Citation) => {
    setOpened({ citation, document: await requests.knowledgePage(citation.document, citation.page) });
  });
  const { run: show } = open;
  useEffect(() => {
    const wanted = takeCitation();
    if (wanted !== null) void show(wanted);
  }, [show]);
  const search = useAction(async () => {
    setOpened(null);
    setFound(await requests.searchKnowledge(query));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const citation = citationOf(query);
    if (citation === null) void search.run();
    else void open.run(citation);
  };
  return (
    <section className={layout.list} aria-labelledby="knowledge-search">
      <h4 id="knowledge-search">{t("knowledge.search")}</h4>
      <form className={styles.stack} role="search" onSubmit={submit}>
        <Field label={t("knowledge.query")} hint={t("knowledge.queryHint")}>
          {(id, describedBy) => (
            <input id={id} type="search" required aria-describedby={describedBy} value={query} onChange={(event) => setQuery(event.target.value)} />
          )}
        </Field>
        <div className={styles.formEnd}>
          <button type="submit" className="primary" disabled={search.busy || open.busy}>
            {t("knowledge.find")}
          </button>
          <span role="status" className="hint">
            {found !== null && t("knowledge.found", { count: found.passages.length })}
          </span>
        </div>
        <Problem text={search.error ?? open.error} />
      </form>
      {opened !== null && <Page opened={opened} onClose={() => setOpened(null)} />}
      {found?.notes.map((note) => (
        <p key={note} className="hint">
          {note}
        </p>
      ))}
      <ul className={styles.cards}>
        {found?.passages.map((passage) => {
          const citation = citationOf(passage.citation);
          return (
            <li key={passage.citation} className={styles.card}>
              <header>
                <h4>{plainly(passage.document)}</h4>
                <span className="hint">
                  {t("knowledge.place", { collection: plainly(passage.collection), page: passage.page })}
                  {passage.page_title !== "" && ` · ${plainly(passage.page_title)}`}
                </span>
              </header>
              {passage.headings.length > 0 && <p className="hint">{passage.headings.map(plainly).join(" › ")}</p>}
              <p className={styles.asWritten}>{passage.text}</p>
              <p className="hint">
                {passage.words_rank != null && t("knowledge.byWords", { rank: passage.words_rank, words: passage.matched.map(plainly).join(", ") })}{" "}
                {passage.meaning_rank != null && t("knowledge.byMeaning", { rank: passage.meaning_rank })}
              </p>
              <button type="button" disabled={open.busy} onClick={() => citation !== null && void open.run(citation)}>
                {t("knowledge.open")}
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** A page with the cited passage marked. */
function Page({ opened: { citation, document }, onClose }: { opened: Opened; onClose: () => void }) {
  const { t } = useTranslation("settings");
  const page = document.pages.find((one) => one.page === citation.page);
  const { state, updated_at_ms: updatedAt } = document.document;
  // While it waits or cannot be read, the version before is shown.
  const hasChanged = citation.saidAt !== undefined && state === "ready" && updatedAt > citation.saidAt;
  const [before, cited, after] = around(page?.text ?? "", citation.start, citation.end);
  return (
    <article className={`${styles.card} ${styles.stack}`} aria-label={plainly(document.document.name)}>
      <header>
        <h4>{plainly(document.document.name)}</h4>
        <span className="hint">
          {t("knowledge.place", { collection: plainly(document.collection), page: citation.page })}
          {page !== undefined && page.title !== "" && ` · ${plainly(page.title)}`}
        </span>
      </header>
      {hasChanged && <p className="caution">{t("knowledge.changed")}</p>}
      {page === undefined ? (
        <p className={styles.nothing}>{t("knowledge.noText")}</p>
      ) : (
        <pre className={layout.whole}>
          {before}
          {/* Scrolls to the cited passage. */}
          {cited !== "" && <mark ref={(mark) => mark?.scrollIntoView({ block: "center" })}>{cited}</mark>}
          {after}
        </pre>
      )}
      <button type="button" onClick={onClose}>
        {t("done")}
      </button>
    </article>
  );
}
