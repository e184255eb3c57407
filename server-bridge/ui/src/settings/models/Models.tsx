import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { Field, Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import { type ModelList, TIERS } from "../types";
import { ModelForm } from "./ModelForm";
import { SubscriptionCard } from "./SubscriptionCard";
import styles from "../settings.module.css";

export default function Models() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["models"], requests.models);
  const [adding, setAdding] = useState(false);
  const saved = async () => {
    setAdding(false);
    await loaded.reload();
  };
  return (
    <Ready loaded={loaded}>
      {(list) => (
        <>
          {list.models.length === 0 ? (
            <p className={styles.nothing}>{t("models.none")}</p>
          ) : (
            <DefaultModel list={list} onChosen={(chosen) => loaded.replace({ ...list, chosen })} />
          )}
          <ul className={styles.cards}>
            {list.models.map((subscription) => (
              <SubscriptionCard
                key={subscription.name}
                subscription={subscription}
                isDefault={isDefault(list, subscription.name)}
                onChanged={loaded.reload}
              />
            ))}
          </ul>
          {adding ? (
            <ModelForm known={null} onSaved={saved} onCancel={() => setAdding(false)} />
          ) : (
            <button type="button" className={styles.start} onClick={() => setAdding(true)}>
              {t("models.add")}
            </button>
          )}
        </>
      )}
    </Ready>
  );
}

function isDefault({ chosen, models }: ModelList, name: string): boolean {
  return chosen === null ? models[0]?.name === name : chosen.split("/")[0] === name;
}

/** The model for chats that have no model of their own. */
function DefaultModel({ list, onChosen }: { list: ModelList; onChosen: (chosen: string | null) => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const choose = useAction(async (model: string | null) => onChosen((await requests.chooseModel(model)).model ?? null));
  const offered = list.models.flatMap(({ name, models }) => [
    { value: name, label: name },
    ...TIERS.filter((tier) => models[tier] !== undefined).map((tier) => ({
      value: `${name}/${tier}`,
      label: `${name} · ${t(`models.tiers.${tier}`)} (${models[tier]?.name})`,
    })),
  ]);
  const known = list.chosen === null || offered.some((option) => option.value === list.chosen);
  return (
    <>
      <Field label={t("models.default")} hint={t("models.defaultHint")}>
        {(id, hint) => (
          <select
            id={id}
            aria-describedby={hint}
            value={list.chosen ?? ""}
            disabled={choose.busy}
            onChange={(event) => void choose.run(event.target.value || null)}
          >
            <option value="">{t("models.first")}</option>
            {!known && list.chosen !== null && <option value={list.chosen}>{list.chosen}</option>}
            {offered.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Problem text={choose.error} />
    </>
  );
}
