import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useTimeWords } from "../lib/useTimeWords";
import { useAppState } from "../state/context";
import layout from "./http/http.module.css";
import { plainly, shortHash } from "./hookTexts";
import { Field, Problem, useProblemLine } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { Hook, HookTried } from "./types";

/** The handlers that need a chat, whose models and rules they use. */
const OF_CHAT = ["prompt", "agent", "mcp_tool"];

/** A form that runs a hook on a sample or on a payload, and shows its decision and its output. */
export function HookTrial({ hook }: { hook: Hook }) {
  const { t } = useTranslation("settings");
  const { open_chat_id } = useAppState("open_chat_id");
  const requests = useRequests();
  const [payload, setPayload] = useState("");
  const [tried, setTried] = useState<HookTried | null>(null);
  const attempt = useAction(async () => {
    setTried(null);
    setTried(await requests.tryHook(hook.id, payload, OF_CHAT.includes(hook.kind) ? open_chat_id : null));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt.run();
  };
  return (
    <details>
      <summary>{t("hooks.try")}</summary>
      <form className={styles.stack} noValidate onSubmit={submit} aria-label={t("hooks.tryName", { hash: shortHash(hook.hash) })}>
        <Field label={t("hooks.payload")} hint={t("hooks.payloadHint")}>
          {(id, describedBy) => (
            <textarea
              id={id}
              rows={3}
              className={styles.code}
              aria-describedby={describedBy}
              spellCheck={false}
              value={payload}
              onChange={(event) => setPayload(event.target.value)}
            />
          )}
        </Field>
        <button type="submit" className={styles.start} disabled={attempt.busy}>
          {t("hooks.start")}
        </button>
        <p role="status" className="hint">
          {attempt.busy && t("hooks.trying")}
        </p>
        <Problem text={attempt.error} />
        {tried !== null && <Tried tried={tried} />}
      </form>
    </details>
  );
}

function Tried({ tried }: { tried: HookTried }) {
  const { t } = useTranslation("settings");
  const { figure } = useTimeWords();
  const problemLine = useProblemLine();
  const lines = [...tried.reasons, ...tried.context, ...tried.messages, ...tried.failures, ...tried.left_out.map(problemLine)];
  const whole = (name: string, text: string) =>
    text.trim() !== "" && (
      <>
        <p className="hint">{name}</p>
        <pre className={layout.whole} tabIndex={0} aria-label={name}>
          {plainly(text)}
        </pre>
      </>
    );
  return (
    <>
      <p role="status">
        <strong>{t(`hooks.decisions.${tried.decision}`)}</strong>
        {tried.runs.map((run) => (
          <span key={run.hook}> {t("hooks.took", { took: figure(run.took_ms) })}</span>
        ))}
      </p>
      {lines.map((line, at) => (
        <p key={at} className={styles.asWritten}>
          {plainly(line)}
        </p>
      ))}
      {tried.runs.map((run) => (
        <div key={run.hook} className={styles.stack}>
          {whole(t("hooks.output"), run.output)}
          {whole(t("hooks.errors"), run.errors)}
        </div>
      ))}
      {tried.arguments !== null && whole(t("hooks.arguments"), tried.arguments)}
      {whole(t("hooks.sent"), tried.payload)}
    </>
  );
}
