import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import marks from "../kit/marks.module.css";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { useAppState } from "../state/context";
import { Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import { RuleTrial } from "./RuleTrial";
import styles from "./settings.module.css";
import { RULE_EFFECTS, type PermissionRule, type RuleEffect } from "./types";

/** The rules that are checked before the approval mode: who made each, how often it decided a call, and a form to add one. */
export function PermissionRules() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["rules"], requests.rules);
  const remove = useAction(async (id: number) => {
    await requests.removeRule(id);
    await loaded.reload();
  });
  return (
    <section aria-labelledby="permission-rules">
      <h4 id="permission-rules">{t("rules.title")}</h4>
      <p className="hint">{t("rules.about")}</p>
      <AddRule onAdded={loaded.reload} />
      <Ready loaded={loaded}>
        {(rules) => (
          <>
            {rules.every(isBuiltIn) && <p className={styles.nothing}>{t("rules.none")}</p>}
            <Rules rules={rules.filter((rule) => !isBuiltIn(rule))} onRemove={(id) => void remove.run(id)} />
            <details>
              <summary>{t("rules.builtIn")}</summary>
              <p className="hint">{t("rules.aboutBuiltIn")}</p>
              <Rules rules={rules.filter(isBuiltIn)} onRemove={() => {}} />
            </details>
          </>
        )}
      </Ready>
      <Problem text={remove.error} />
      <RuleTrial rules={loaded.value} />
    </section>
  );
}

const isBuiltIn = (rule: PermissionRule) => rule.origin === "built_in";

function Rules({ rules, onRemove }: { rules: PermissionRule[]; onRemove: (id: number) => void }) {
  return (
    <ul className={styles.cards}>
      {rules.map((rule) => (
        <Rule key={`${rule.origin} ${rule.chat_id ?? rule.file} ${rule.effect} ${rule.rule}`} rule={rule} onRemove={onRemove} />
      ))}
    </ul>
  );
}

function Rule({ rule, onRemove }: { rule: PermissionRule; onRemove: (id: number) => void }) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const { id, hits, last_hit_at: lastHit } = rule;
  return (
    <li className={styles.card}>
      <header>
        <h4>
          <code className={styles.asWritten}>{rule.rule === "" ? t("rules.unreadable") : rule.rule}</code> <span className={marks.badge}>{t(`rules.effects.${rule.effect}`)}</span>
        </h4>
        <span className="hint">{t(`rules.origins.${rule.origin}`, { file: rule.file ?? "" })}</span>
      </header>
      {rule.justification !== "" && <p>{rule.justification}</p>}
      {rule.warnings.map((warning) => (
        <p key={warning} className="caution">
          {warning}
        </p>
      ))}
      {hits !== null && (
        <p className="hint" title={lastHit === null ? undefined : absolute(lastHit)}>
          {lastHit === null ? t("rules.neverUsed") : t("rules.used", { count: hits, when: relative(lastHit, now) })}
        </p>
      )}
      {id !== null && (
        <ConfirmButton
          label={t("remove")}
          name={t("rules.removeName", { rule: rule.rule })}
          question={t("rules.removeQuestion", { rule: rule.rule })}
          confirmLabel={t("remove")}
          onConfirm={() => onRemove(id)}
        />
      )}
    </li>
  );
}

function AddRule({ onAdded }: { onAdded: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [effect, setEffect] = useState<RuleEffect>("deny");
  const [rule, setRule] = useState("");
  const [justification, setJustification] = useState("");
  const [isOnlyHere, setOnlyHere] = useState(false);
  const { open_chat_id } = useAppState("open_chat_id");
  const add = useAction(async () => {
    await requests.addRule(effect, rule.trim(), justification.trim(), isOnlyHere ? open_chat_id : null);
    setRule("");
    setJustification("");
    await onAdded();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <h4>{t("rules.add")}</h4>
      <div className={styles.fields}>
        <Field label={t("rules.effect")} hint={t(`rules.effectHints.${effect}`)}>
          {(id, hint) => (
            <select id={id} aria-describedby={hint} value={effect} onChange={(event) => setEffect(event.target.value as RuleEffect)}>
              {RULE_EFFECTS.map((candidate) => (
                <option key={candidate} value={candidate}>
                  {t(`rules.effects.${candidate}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("rules.rule")} hint={t("rules.ruleHint")}>
          {(id, hint) => (
            <input
              id={id}
              aria-describedby={hint}
              required
              placeholder="Shell(git push *)"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={rule}
              onChange={(event) => setRule(event.target.value)}
            />
          )}
        </Field>
        <Field label={t("rules.justification")}>
          {(id) => <input id={id} autoComplete="off" value={justification} onChange={(event) => setJustification(event.target.value)} />}
        </Field>
      </div>
      {open_chat_id !== null && (
        <label className={styles.tick}>
          <input type="checkbox" checked={isOnlyHere} onChange={(event) => setOnlyHere(event.target.checked)} /> {t("rules.onlyHere")}
        </label>
      )}
      <Problem text={add.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={add.busy}>
          {t("rules.add")}
        </button>
      </div>
    </form>
  );
}
