import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useAppState } from "../state/context";
import { Field, Problem } from "./parts";
import { useRequests } from "./requests";
import styles from "./settings.module.css";
import type { PermissionRule, RuleTrialResult } from "./types";

/** A form that tries the rules on a call, in all chats or in the open one, without running it. The verdict is shown until the rules change. */
export function RuleTrial({ rules }: { rules: readonly PermissionRule[] | null }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [tool, setTool] = useState("Shell");
  const [subject, setSubject] = useState("");
  const [isHere, setHere] = useState(true);
  const { open_chat_id } = useAppState("open_chat_id");
  const [result, setResult] = useState<{ rules: typeof rules; view: RuleTrialResult } | null>(null);
  const attempt = useAction(async () => setResult({ rules, view: await requests.tryRules(tool.trim(), subject, isHere ? open_chat_id : null) }));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void attempt.run();
  };
  const field = (id: string, value: string, set: (value: string) => void) => (
    <input
      id={id}
      autoComplete="off"
      autoCapitalize="none"
      spellCheck={false}
      value={value}
      onChange={(event) => {
        set(event.target.value);
        // The shown verdict was for another call.
        setResult(null);
      }}
    />
  );
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <h4>{t("rules.trial")}</h4>
      <div className={styles.fields}>
        <Field label={t("rules.tool")}>{(id) => field(id, tool, setTool)}</Field>
        <Field label={t("rules.subject")}>{(id) => field(id, subject, setSubject)}</Field>
      </div>
      {open_chat_id !== null && (
        <label className={styles.tick}>
          <input
            type="checkbox"
            checked={isHere}
            onChange={(event) => {
              setHere(event.target.checked);
              setResult(null);
            }}
          />{" "}
          {t("rules.tryHere")}
        </label>
      )}
      <Problem text={attempt.error} />
      <div className={styles.formEnd}>
        <button type="submit" disabled={attempt.busy}>
          {t("rules.try")}
        </button>
      </div>
      <div role="status">{result !== null && result.rules === rules && <Result result={result.view} />}</div>
    </form>
  );
}

function Result({ result }: { result: RuleTrialResult }) {
  const { t } = useTranslation("settings");
  return (
    <>
      <p>
        <strong>{t(`rules.verdicts.${result.verdict}`)}</strong>: {result.reason}
      </p>
      <ul>
        {result.parts.map((part, at) => (
          <li key={at}>
            <code className={styles.asWritten}>{part.text}</code>
            {part.matches.map((match) => (
              <p className="hint" key={`${match.origin} ${match.effect} ${match.rule}`}>
                {t(`rules.effects.${match.effect}`)} <code>{match.rule}</code> ({t(`rules.origins.${match.origin}`, { file: "" })})
              </p>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
