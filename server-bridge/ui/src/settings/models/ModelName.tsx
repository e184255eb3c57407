import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { Field } from "../parts";
import { refusalOf } from "./draft";
import type { Offer } from "./useOffer";

interface Props {
  label: string;
  /** The id of the `datalist` with the names, which the form contains once. */
  list: string;
  value: string;
  required?: boolean;
  hint?: string;
  problem?: string | null;
  onChange: (value: string) => void;
  /** Loads the provider's models. */
  onAsk: () => void;
}

/** A field for a model's name: one that the provider lists, or any other. */
export function ModelName({ label, list, value, required, hint, problem = null, onChange, onAsk }: Props) {
  const { t } = useTranslation("settings");
  return (
    <Field label={label} hint={hint} problem={problem}>
      {(id, describedBy) => (
        <input
          id={id}
          list={list}
          required={required}
          placeholder={t("models.modelName")}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          aria-describedby={describedBy}
          aria-invalid={problem !== null}
          value={value}
          onFocus={onAsk}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** The names to choose from, and a line about the request for them. */
export function OfferedNames({ id, offer }: { id: string; offer: Offer }) {
  const { t } = useTranslation("settings");
  const words = {
    unasked: "",
    asking: t("models.offer.asking"),
    listed: t(offer.complete ? "models.offer.listed" : "models.offer.cut", { number: offer.names.length }),
    unlisted: t("models.offer.unlisted"),
    // Errors about the key are shown at the field of the key.
    failed: refusalOf(offer.error)?.field === "key" ? "" : t("models.offer.failed", { why: errorText(offer.error) }),
  };
  return (
    <>
      <datalist id={id}>
        {offer.names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p role="status" className="hint">
        {words[offer.state]}
      </p>
    </>
  );
}
