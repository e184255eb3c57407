import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useAppState } from "../../state/context";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import { type Provider, type Subscription, type Tier, TIERS } from "../types";
import { type Draft, documentOf, draftOf } from "./draft";
import { TierFields } from "./TierFields";

interface Props {
  /** Null to add one. */
  known: Subscription | null;
  onSaved: (saved: Subscription) => Promise<void>;
  onCancel: (() => void) | null;
}

const PROVIDERS: Provider[] = ["openai", "anthropic"];
const ADDRESSES: Record<Provider, string> = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com" };

/** A subscription to be added or changed. Its key goes one way: the server never tells it. */
export function ModelForm({ known, onSaved, onCancel }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [draft, setDraft] = useState(() => draftOf(known));
  const change = (changed: Partial<Draft>) => setDraft((before) => ({ ...before, ...changed }));
  const save = useAction(async () => {
    const document = documentOf(draft, known);
    if (Object.keys(document.models).length === 0) throw new Error(t("models.noModel"));
    await onSaved(await (known === null ? requests.addModel(document) : requests.changeModel(known.name, document)));
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  const title = known === null ? t("models.add") : t("models.change", { name: known.name });
  return (
    <form className="card stack" onSubmit={submit} aria-label={title}>
      <h4>{title}</h4>
      <div className="fields">
        {known === null && (
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
        )}
        <Field label={t("models.provider")}>
          {(id) => (
            <select id={id} value={draft.provider} onChange={(event) => change({ provider: event.target.value as Provider })}>
              {PROVIDERS.map((provider) => (
                <option key={provider} value={provider}>
                  {t(`models.providers.${provider}`)}
                </option>
              ))}
            </select>
          )}
        </Field>
      </div>
      <Address draft={draft} change={change} />
      {!draft.relayed && <KeyField draft={draft} known={known} change={change} />}
      <TierFields tiers={draft.tiers} onChange={(tiers) => change({ tiers })} />
      <div className="fields">
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
      <Problem text={save.error} />
      <div className="form-end">
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        {onCancel !== null && (
          <button type="button" className="quiet" onClick={onCancel}>
            {t("cancel")}
          </button>
        )}
      </div>
    </form>
  );
}

interface PartProps {
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
}

/** Where the endpoint is: anywhere the server reaches, or beside a runner that relays to it. */
function Address({ draft, change }: PartProps) {
  const { t } = useTranslation("settings");
  const { runners } = useAppState();
  return (
    <>
      {(runners.length > 0 || draft.relayed) && (
        <label className="tick">
          <input
            type="checkbox"
            checked={draft.relayed}
            onChange={(event) => change({ relayed: event.target.checked, runner: draft.runner || (runners[0]?.name ?? "") })}
          />
          {t("models.relayed")}
        </label>
      )}
      {draft.relayed ? (
        <Field label={t("models.runner")} hint={t("models.runnerHint")}>
          {(id, hint) => (
            <select id={id} aria-describedby={hint} value={draft.runner} onChange={(event) => change({ runner: event.target.value })}>
              {runners.map((runner) => (
                <option key={runner.name}>{runner.name}</option>
              ))}
            </select>
          )}
        </Field>
      ) : (
        <Field label={t("models.address")} hint={t("models.addressHint")}>
          {(id, hint) => (
            <input
              id={id}
              type="url"
              aria-describedby={hint}
              placeholder={ADDRESSES[draft.provider]}
              spellCheck={false}
              value={draft.baseUrl}
              onChange={(event) => change({ baseUrl: event.target.value })}
            />
          )}
        </Field>
      )}
    </>
  );
}

function KeyField({ draft, known, change }: PartProps & { known: Subscription | null }) {
  const { t } = useTranslation("settings");
  const kept = known?.api_key_end ?? null;
  return (
    <>
      <Field label={t("models.key")} hint={t("models.keyHint")}>
        {(id, hint) => (
          <input
            id={id}
            type="password"
            aria-describedby={hint}
            autoComplete="off"
            disabled={draft.withoutKey}
            placeholder={kept === null ? "" : t("models.keyKept", { end: kept })}
            value={draft.key}
            onChange={(event) => change({ key: event.target.value })}
          />
        )}
      </Field>
      {kept !== null && (
        <label className="tick">
          <input type="checkbox" checked={draft.withoutKey} onChange={(event) => change({ withoutKey: event.target.checked })} />
          {t("models.takeKey")}
        </label>
      )}
    </>
  );
}
