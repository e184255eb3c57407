import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import { type Subscription, type Tier, TIERS, type Trial } from "../types";
import { type Draft, documentOf, draftOf, needsTrial, type Refusal, refusalOf } from "./draft";
import { ModelName, OfferedNames } from "./ModelName";
import { Address, KeyField, ProviderField } from "./PlaceFields";
import { TierFields } from "./TierFields";
import { type Offer, useOffer } from "./useOffer";
import styles from "../settings.module.css";

interface Props {
  /** The subscription to change; null to add one. */
  known: Subscription | null;
  /** True for the first model: the form asks only for the necessary fields, and names the subscription after its provider. */
  isFirst?: boolean;
  /** Called after saving; `trial` is the model's answer, if it was tested. */
  onSaved: (saved: Subscription, trial: Trial | null) => Promise<void>;
  onCancel: (() => void) | null;
}

/**
 * The form that adds or changes a subscription. The key is write-only: the server never returns it. The model is tested before anything is
 * saved; if it does not answer, the form keeps its contents, and the reason is shown at its field.
 */
export function ModelForm({ known, isFirst = false, onSaved, onCancel }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState(() => draftOf(known));
  const [refusal, setRefusal] = useState<Refusal | null>(null);
  const [offer, askForModels] = useOffer(draft, known);
  const names = useId();
  const form = useFocusOnRefusal(refusal);
  const change = (changed: Partial<Draft>) => {
    setRefusal(null);
    setDraft((before) => ({ ...before, ...changed }));
  };
  const save = useAction(async (isUntried: boolean) => {
    setRefusal(null);
    const document = documentOf(isFirst ? { ...draft, name: draft.provider } : draft, known);
    if (Object.keys(document.models).length === 0) throw new Error(t("models.noModel"));
    let trial: Trial | null = null;
    try {
      if (!isUntried && needsTrial(document, known)) trial = await requests.tryModel({ ...document, name: known?.name ?? document.name });
    } catch (error) {
      const refused = refusalOf(error);
      if (refused === null) throw error;
      return setRefusal(refused);
    }
    await onSaved(await (known === null ? requests.addModel(document) : requests.changeModel(known.name, document)), trial);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run(false);
  };
  const problemOf = (field: Refusal["field"]) => (refusal?.field === field ? refusal.text : null);
  const title = known === null ? t("models.add") : t("models.change", { name: known.name });
  const { balance } = draft.tiers;
  return (
    <form ref={form} className={`${styles.card} ${styles.stack}`} onSubmit={submit} aria-label={title} aria-busy={save.busy}>
      {!isFirst && <h4>{title}</h4>}
      <div className={styles.fields}>
        {known === null && !isFirst && <NameField draft={draft} change={change} />}
        <ProviderField draft={draft} change={change} />
      </div>
      <Address draft={draft} change={change} problem={problemOf("place")} />
      {!draft.relayed && <KeyField draft={draft} known={known} change={change} problem={problemOf("key") ?? keyProblem(offer)} />}
      {isFirst ? (
        <ModelName
          label={t("models.model")}
          list={names}
          required
          hint={t("models.moreLater")}
          problem={problemOf("model")}
          value={balance.name}
          onChange={(name) => change({ tiers: { ...draft.tiers, balance: { ...balance, name } } })}
          onAsk={askForModels}
        />
      ) : (
        <>
          <TierFields tiers={draft.tiers} list={names} onAsk={askForModels} onChange={(tiers) => change({ tiers })} />
          <Problem text={problemOf("model")} />
        </>
      )}
      <OfferedNames id={names} offer={offer} />
      {!isFirst && <ChoiceFields draft={draft} change={change} />}
      <Problem text={save.error ?? problemOf(null)} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t(isFirst ? "models.tryAndSave" : "save")}
        </button>
        {refusal !== null && (
          <button type="button" className="quiet" disabled={save.busy} onClick={() => void save.run(true)}>
            {t("models.saveAnyway")}
          </button>
        )}
        {onCancel !== null && (
          <button type="button" className="quiet" onClick={onCancel}>
            {t("cancel")}
          </button>
        )}
        <span role="status" className="hint">
          {save.busy && t("models.trying")}
        </span>
      </div>
    </form>
  );
}

/** Returns a ref for the form, and focuses the field that a refusal concerns. */
function useFocusOnRefusal(refusal: Refusal | null) {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (refusal !== null) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refusal]);
  return form;
}

/** The provider's error about the key when its models were requested. */
function keyProblem({ error }: Offer): string | null {
  const refused = refusalOf(error);
  return refused?.field === "key" ? refused.text : null;
}

interface PartProps {
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
}

function NameField({ draft, change }: PartProps) {
  const { t } = useTranslation("settings");
  return (
    <Field label={t("name")} hint={t("models.nameHint")}>
      {(id, hint) => (
        <input
          id={id}
          required
          aria-describedby={hint}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          placeholder="mine"
          value={draft.name}
          onChange={(event) => change({ name: event.target.value })}
        />
      )}
    </Field>
  );
}

/** The fields for the default tier and the fallback. */
function ChoiceFields({ draft, change }: PartProps) {
  const { t } = useTranslation("settings");
  return (
    <div className={styles.fields}>
      <Field label={t("models.usualTier")}>
        {(id) => (
          <select id={id} value={draft.defaultTier} onChange={(event) => change({ defaultTier: event.target.value as Tier | "" })}>
            <option value="">{t("models.asServer")}</option>
            {TIERS.filter((tier) => draft.tiers[tier].name.trim() !== "").map((tier) => (
              <option key={tier} value={tier}>
                {t(`models.tiers.${tier}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label={t("models.fallback")} hint={t("models.fallbackHint")}>
        {(id, hint) => (
          <input
            id={id}
            aria-describedby={hint}
            spellCheck={false}
            value={draft.fallback}
            onChange={(event) => change({ fallback: event.target.value })}
          />
        )}
      </Field>
    </div>
  );
}
