import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { useTimeWords } from "../../lib/useTimeWords";
import { Problem } from "../parts";
import { useRequests } from "../requests";
import { type Subscription, TIERS, type Trial } from "../types";
import { ModelForm } from "./ModelForm";
import styles from "../settings.module.css";
import marks from "../../kit/marks.module.css";

interface Props {
  subscription: Subscription;
  isDefault: boolean;
  onChanged: () => Promise<void>;
}

export function SubscriptionCard({ subscription, isDefault, onChanged }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [editing, setEditing] = useState(false);
  const [trial, setTrial] = useState<Trial | null>(null);
  const { name, shared } = subscription;
  const test = useAction(async () => {
    setTrial(null);
    setTrial(await requests.testModel(name, null));
  });
  const remove = useAction(async () => {
    await requests.removeModel(name);
    await onChanged();
  });
  if (editing) {
    const saved = async () => {
      setEditing(false);
      await onChanged();
    };
    return (
      <li>
        <ModelForm known={subscription} onSaved={saved} onCancel={() => setEditing(false)} />
      </li>
    );
  }
  return (
    <li className={styles.card} data-testid="subscription" data-name={name}>
      <header>
        <h4>{name}</h4>
        {shared && <span className={marks.badge}>{t("models.shared")}</span>}
        {isDefault && <span className={`${marks.badge} ${marks.active}`}>{t("models.isDefault")}</span>}
        <span className="hint">{t(`models.providers.${subscription.provider}`)}</span>
      </header>
      <Facts subscription={subscription} />
      <div className={styles.actions}>
        <button type="button" className="quiet" disabled={test.busy} onClick={() => void test.run()}>
          {test.busy ? t("models.testing") : t("models.test")}
        </button>
        {!shared && (
          <>
            <button type="button" className="quiet" onClick={() => setEditing(true)}>
              {t("models.edit")}
            </button>
            <ConfirmButton
              label={t("remove")}
              name={t("models.removeName", { name })}
              question={t("models.question", { name })}
              confirmLabel={t("remove")}
              onConfirm={() => void remove.run()}
            />
          </>
        )}
      </div>
      <p role="status" className={styles.good}>
        {trial !== null && t("models.answered", { model: trial.model, ms: trial.duration_ms, answer: trial.answer })}
      </p>
      <Problem text={test.error ?? remove.error} />
    </li>
  );
}

function Facts({ subscription }: { subscription: Subscription }) {
  const { t } = useTranslation("settings");
  const { figure } = useTimeWords();
  const { runner, base_url: address, models, default_tier: tier, fallback, api_key_end: key, shared } = subscription;
  return (
    <dl className={styles.facts}>
      {(runner ?? address) && (
        <div>
          <dt>{t("models.at")}</dt>
          <dd>{runner === null ? address : t("models.behind", { runner })}</dd>
        </div>
      )}
      {TIERS.map((candidate) => {
        const model = models[candidate];
        if (model === undefined) return null;
        return (
          <div key={candidate}>
            <dt>{t(`models.tiers.${candidate}`)}</dt>
            <dd>
              {model.name} {candidate === tier && <span className={marks.badge}>{t("models.usual")}</span>}{" "}
              <span className="hint">
                {model.window_tokens ? t("models.window", { tokens: figure(model.window_tokens, true) }) : ""}
                {model.price ? ` · ${t("models.priced", { input: model.price.input, output: model.price.output })}` : ""}
              </span>
            </dd>
          </div>
        );
      })}
      {fallback && (
        <div>
          <dt>{t("models.fallback")}</dt>
          <dd>{fallback}</dd>
        </div>
      )}
      {!shared && (
        <div>
          <dt>{t("models.key")}</dt>
          <dd>{key === null ? t("models.noKey") : t("models.keyEnds", { end: key })}</dd>
        </div>
      )}
    </dl>
  );
}
