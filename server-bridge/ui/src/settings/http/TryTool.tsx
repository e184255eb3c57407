import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { plainly } from "../hookTexts";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { HttpTool, HttpToolTried } from "../types";
import { parameterNames } from "./draft";
import styles from "../settings.module.css";
import layout from "./http.module.css";

/** A form that sends a tool's request, and shows the request without secrets and the response as a model reads it. */
export function TryTool({ tool }: { tool: HttpTool }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [args, setArgs] = useState("{}");
  const [tried, setTried] = useState<HttpToolTried | null>(null);
  const send = useAction(async () => {
    setTried(null);
    setTried(await requests.tryHttpTool(tool.name, args));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void send.run();
  };
  const names = parameterNames(tool.document).join(", ");
  const name = plainly(tool.name);
  return (
    <details>
      <summary>{t("http.try")}</summary>
      <form className={styles.stack} noValidate onSubmit={submit} aria-label={t("http.tryName", { name })}>
        <Field label={t("http.arguments")} hint={names === "" ? t("http.argumentsNone") : t("http.argumentsHint", { names: plainly(names) })}>
          {(id, describedBy) => (
            <textarea
              id={id}
              rows={3}
              className={styles.code}
              aria-describedby={describedBy}
              spellCheck={false}
              value={args}
              onChange={(event) => setArgs(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" className={styles.start} disabled={send.busy}>
          {t("http.send")}
        </button>
        <p role="status" className="hint">
          {send.busy && t("http.sending")}
        </p>
        <Problem text={send.error} />
        {tried !== null && <Tried tried={tried} />}
      </form>
    </details>
  );
}

function Tried({ tried }: { tried: HttpToolTried }) {
  const { t } = useTranslation("settings");
  const request = [`${tried.method} ${tried.url}`, ...tried.headers, ...(tried.body === null ? [] : ["", tried.body])].join("\n");
  const answer = t(tried.is_error ? "http.failed" : "http.answer");
  return (
    <>
      <p className="hint">{t("http.sent")}</p>
      <pre className={layout.whole} tabIndex={0} aria-label={t("http.sent")}>
        {plainly(request)}
      </pre>
      <p className={tried.is_error ? "problem" : "hint"} role="status">
        {answer}
      </p>
      <pre className={layout.whole} tabIndex={0} aria-label={answer}>
        {plainly(tried.answer)}
      </pre>
    </>
  );
}
