import { useTranslation } from "react-i18next";
import { useAppState } from "../../state/context";
import { Field } from "../parts";
import type { Provider, Subscription } from "../types";
import type { Draft } from "./draft";
import styles from "../settings.module.css";

const PROVIDERS: Provider[] = ["openai", "anthropic"];
const ADDRESSES: Record<Provider, string> = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com" };

interface Props {
  draft: Draft;
  change: (changed: Partial<Draft>) => void;
}

export function ProviderField({ draft, change }: Props) {
  const { t } = useTranslation("settings");
  return (
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
  );
}

/** The fields for the endpoint: an address that the server can reach, or a runner that relays to it. */
export function Address({ draft, change, problem }: Props & { problem: string | null }) {
  const { t } = useTranslation("settings");
  const { runners } = useAppState("runners");
  return (
    <>
      {(runners.length > 0 || draft.relayed) && (
        <label className={styles.tick}>
          <input
            type="checkbox"
            checked={draft.relayed}
            onChange={(event) => change({ relayed: event.target.checked, runner: draft.runner || (runners[0]?.name ?? "") })}
          />
          {t("models.relayed")}
        </label>
      )}
      {draft.relayed ? (
        <Field label={t("models.runner")} hint={t("models.runnerHint")} problem={problem}>
          {(id, describedBy) => (
            <select
              id={id}
              aria-describedby={describedBy}
              aria-invalid={problem !== null}
              value={draft.runner}
              onChange={(event) => change({ runner: event.target.value })}
            >
              {runners.map((runner) => (
                <option key={runner.name}>{runner.name}</option>
              ))}
            </select>
          )}
        </Field>
      ) : (
        <Field label={t("models.address")} hint={t("models.addressHint")} problem={problem}>
          {(id, describedBy) => (
            <input
              id={id}
              type="url"
              aria-describedby={describedBy}
              aria-invalid={problem !== null}
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

interface KeyProps extends Props {
  known: Subscription | null;
  problem: string | null;
}

export function KeyField({ draft, known, change, problem }: KeyProps) {
  const { t } = useTranslation("settings");
  const kept = known?.api_key_end ?? null;
  return (
    <>
      <Field label={t("models.key")} hint={t("models.keyHint")} problem={problem}>
        {(id, describedBy) => (
          <input
            id={id}
            type="password"
            aria-describedby={describedBy}
            aria-invalid={problem !== null}
            autoComplete="off"
            disabled={draft.withoutKey}
            placeholder={kept === null ? "" : t("models.keyKept", { end: kept })}
            value={draft.key}
            onChange={(event) => change({ key: event.target.value })}
          />
        )}
      </Field>
      {kept !== null && (
        <label className={styles.tick}>
          <input type="checkbox" checked={draft.withoutKey} onChange={(event) => change({ withoutKey: event.target.checked })} />
          {t("models.takeKey")}
        </label>
      )}
    </>
  );
}
