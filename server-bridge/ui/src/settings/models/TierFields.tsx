import { useTranslation } from "react-i18next";
import { Field } from "../parts";
import { type Tier, TIERS } from "../types";
import type { TierDraft } from "./draft";
import { ModelName } from "./ModelName";
import styles from "../settings.module.css";

interface Props {
  tiers: Record<Tier, TierDraft>;
  /** The id of the list of names to choose from, and the function that loads them. */
  list: string;
  onAsk: () => void;
  onChange: (tiers: Record<Tier, TierDraft>) => void;
}

/** The model of each tier; at least one is required. */
export function TierFields({ tiers, list, onAsk, onChange }: Props) {
  const { t } = useTranslation("settings");
  const change = (tier: Tier, changed: Partial<TierDraft>) => onChange({ ...tiers, [tier]: { ...tiers[tier], ...changed } });
  return (
    <fieldset className={styles.tiers}>
      <legend>{t("models.models")}</legend>
      <p className="hint">{t("models.tierHint")}</p>
      {TIERS.map((tier) => (
        <div key={tier} className={styles.tier} role="group" aria-label={t(`models.tiers.${tier}`)}>
          <ModelName
            label={t(`models.tiers.${tier}`)}
            list={list}
            value={tiers[tier].name}
            onChange={(name) => change(tier, { name })}
            onAsk={onAsk}
          />
          {tiers[tier].name.trim() !== "" && (
            <Figures draft={tiers[tier]} onChange={(changed) => change(tier, changed)} />
          )}
        </div>
      ))}
    </fieldset>
  );
}

function Figures({ draft, onChange }: { draft: TierDraft; onChange: (changed: Partial<TierDraft>) => void }) {
  const { t } = useTranslation("settings");
  const figures = [
    { label: t("models.windowTokens"), value: draft.windowTokens, step: "1", placeholder: "200000", key: "windowTokens" },
    { label: t("models.inputPrice"), value: draft.inputPrice, step: "any", placeholder: "", key: "inputPrice" },
    { label: t("models.outputPrice"), value: draft.outputPrice, step: "any", placeholder: "", key: "outputPrice" },
  ] as const;
  return (
    <div className={`${styles.fields} ${styles.three}`}>
      {figures.map(({ label, value, step, placeholder, key }) => (
        <Field key={key} label={label}>
          {(id) => (
            <input
              id={id}
              type="number"
              min="0"
              step={step}
              placeholder={placeholder}
              value={value}
              onChange={(event) => onChange({ [key]: event.target.value })}
            />
          )}
        </Field>
      ))}
    </div>
  );
}
