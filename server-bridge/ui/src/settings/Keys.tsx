import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import { Secret } from "../kit/Secret";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Field, Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import { type ApiKey, KEY_SCOPES, type KeyScope, type MadeKey } from "./types";
import styles from "./settings.module.css";
import marks from "../kit/marks.module.css";

const DAY_S = 86_400;
/** The lifetimes offered for a key, in days; 0 means unlimited. */
const TERMS_DAYS = [7, 30, 90, 365, 0] as const;

export default function Keys() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["keys"], requests.keys);
  const remove = useAction(async (name: string) => {
    await requests.removeKey(name);
    await loaded.reload();
  });
  return (
    <>
      <AddKey onAdded={loaded.reload} />
      <Ready loaded={loaded}>
        {(keys) =>
          keys.length === 0 ? (
            <p className={styles.nothing}>{t("keys.none")}</p>
          ) : (
            <ul className={styles.cards}>
              {keys.map((key) => (
                <KeyCard key={key.name} known={key} onRemove={() => void remove.run(key.name)} />
              ))}
            </ul>
          )
        }
      </Ready>
      <Problem text={remove.error} />
    </>
  );
}

function KeyCard({ known, onRemove }: { known: ApiKey; onRemove: () => void }) {
  const { t } = useTranslation("settings");
  const { relative, absolute } = useTimeWords();
  const now = useNow();
  const used = known.last_used === null ? t("keys.neverUsed") : t("keys.used", { when: relative(known.last_used, now) });
  const ends =
    known.expires_at === null
      ? t("keys.noEnd")
      : t(known.expired ? "keys.ended" : "keys.ends", { when: absolute(known.expires_at) });
  return (
    <li className={`${styles.card} ${styles.line}`}>
      <div>
        <h4>
          {known.name} <span className={marks.badge}>{t(`keys.scopes.${known.scope}`)}</span>
        </h4>
        <p className={known.expired ? "caution" : "hint"}>
          {used} · {ends}
        </p>
      </div>
      <ConfirmButton
        label={t("remove")}
        name={t("keys.removeName", { name: known.name })}
        question={t("keys.question", { name: known.name })}
        confirmLabel={t("remove")}
        onConfirm={onRemove}
      />
    </li>
  );
}

function AddKey({ onAdded }: { onAdded: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [name, setName] = useState("");
  const [scope, setScope] = useState<KeyScope>("exec");
  const [days, setDays] = useState<number>(90);
  const [made, setMade] = useState<MadeKey | null>(null);
  const add = useAction(async () => {
    setMade(await requests.addKey(name.trim(), scope, days === 0 ? null : days * DAY_S));
    setName("");
    await onAdded();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className={`${styles.card} ${styles.stack}`} onSubmit={submit}>
      <h4>{t("keys.add")}</h4>
      <div className={styles.fields}>
        <Field label={t("name")}>
          {(id) => (
            <input
              id={id}
              required
              placeholder="ci"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
          )}
        </Field>
        <Field label={t("keys.scope")} hint={t(`keys.scopeHints.${scope}`)}>
          {(id, hint) => (
            <select id={id} aria-describedby={hint} value={scope} onChange={(event) => setScope(event.target.value as KeyScope)}>
              {KEY_SCOPES.map((candidate) => (
                <option key={candidate} value={candidate}>
                  {t(`keys.scopes.${candidate}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={t("keys.term")}>
          {(id) => (
            <select id={id} value={days} onChange={(event) => setDays(Number(event.target.value))}>
              {TERMS_DAYS.map((term) => (
                <option key={term} value={term}>
                  {term === 0 ? t("keys.forEver") : t("days", { count: term })}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Problem text={add.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={add.busy}>
          {t("keys.make")}
        </button>
      </div>
      {made !== null && (
        <div className={styles.tokenResult} role="group" aria-label={t("keys.made", { name: made.name })}>
          <p>{t("keys.shownOnce", { name: made.name })}</p>
          <Secret text={made.key} name={t("keys.copy")} testId="api-key" />
          <footer>
            <button type="button" onClick={() => setMade(null)}>
              {t("done")}
            </button>
          </footer>
        </div>
      )}
    </form>
  );
}
