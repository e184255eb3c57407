import { useTranslation } from "react-i18next";
import { dollarsOf, microsOf, minutesOf, secondsOf, tokensOf } from "./steps";
import type { Budget } from "./types";
import styles from "./groups.module.css";

interface Props {
  budget: Budget | null | undefined;
  onChange: (budget: Budget) => void;
}

/** The budget of a chain's run: the amounts that it may use before it asks a person. */
export function BudgetFields({ budget, onChange }: Props) {
  const { t } = useTranslation("groups");
  const change = (changed: Budget) => onChange({ ...budget, ...changed });
  return (
    <fieldset className={styles.budget}>
      <legend>{t("budget")}</legend>
      <p className="hint">{t("budgetHint")}</p>
      <div className={styles.line}>
        <label>
          {t("budgetTokens")}{" "}
          <input className={styles.amount} inputMode="numeric" placeholder="200000" defaultValue={budget?.tokens ?? ""} onChange={(event) => change({ tokens: tokensOf(event.target.value) })} />
        </label>
        <label>
          {t("budgetDollars")}{" "}
          <input className={styles.amount} inputMode="decimal" placeholder="2.50" defaultValue={dollarsOf(budget?.cost_micro_usd)} onChange={(event) => change({ cost_micro_usd: microsOf(event.target.value) })} />
        </label>
        <label>
          {t("budgetMinutes")}{" "}
          <input className={styles.amount} inputMode="decimal" placeholder="60" defaultValue={minutesOf(budget?.seconds)} onChange={(event) => change({ seconds: secondsOf(event.target.value) })} />
        </label>
      </div>
    </fieldset>
  );
}
