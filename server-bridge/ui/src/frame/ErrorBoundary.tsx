import i18next from "i18next";
import { Component, type ReactNode } from "react";
import styles from "./frame.module.css";

interface State {
  error: Error | null;
  draft: string;
}

/** Shown in place of a page that failed: the reason, the draft, and a reload button. */
export class ErrorBoundary extends Component<{ children: ReactNode }, State> {
  override state: State = { error: null, draft: "" };

  static getDerivedStateFromError(error: unknown): State {
    // The failed view, with the user's draft, is still on the page at this moment.
    const draft = document.querySelector<HTMLTextAreaElement>("textarea[data-composer]")?.value ?? "";
    return { error: error instanceof Error ? error : new Error(String(error)), draft };
  }

  override render() {
    const { error, draft } = this.state;
    if (error === null) return this.props.children;
    const t = i18next.getFixedT(null, "frame");
    return (
      <main className={styles.centered}>
        <section className={styles.failed} role="alert">
          <h1>{t("failed")}</h1>
          <p>{t("failedHint")}</p>
          {draft !== "" && (
            <label>
              {t("draft")}
              <textarea readOnly value={draft} rows={5} onFocus={(event) => event.currentTarget.select()} />
            </label>
          )}
          <pre className="hint">{error.message}</pre>
          <button type="button" className="primary" onClick={() => window.location.reload()}>
            {t("reload")}
          </button>
        </section>
      </main>
    );
  }
}
