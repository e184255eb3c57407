import { type FormEvent, useState } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { useAppState } from "../../state/context";
import { Field, Problem } from "../parts";
import { useRequests } from "../requests";
import type { Channel, ChannelKind } from "../types";
import { WrittenField } from "../WrittenField";
import styles from "../settings.module.css";

interface Props {
  kinds: ChannelKind[];
  /** The channel to change; null for a new one. */
  edited: Channel | null;
  onSaved: () => Promise<void>;
}

/** The form for a channel, with the steps to take on the messenger's side. */
export function AddChannel({ kinds, edited, onSaved }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const { me } = useAppState("me");
  const [name, setName] = useState(edited?.name ?? "");
  const [kindName, setKindName] = useState(edited?.kind ?? kinds[0]?.name ?? "");
  const [values, setValues] = useState<Record<string, string>>(edited?.values ?? {});
  const [allow, setAllow] = useState((edited?.allow ?? []).join("\n"));
  const [shared, setShared] = useState(edited?.shared ?? false);
  const [enabled, setEnabled] = useState(edited?.enabled ?? true);
  const [saved, setSaved] = useState<string | null>(null);
  const kind = kinds.find((one) => one.name === kindName);
  const save = useAction(async () => {
    setSaved(null);
    const people = allow.split("\n").map((line) => line.trim());
    const put = { kind: kindName, values, allow: people.filter((line) => line !== ""), enabled, shared };
    await requests.putChannel(name.trim(), put);
    setValues({});
    setSaved(name.trim());
    await onSaved();
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void save.run();
  };
  if (kinds.length === 0) return null;
  return (
    <form className={`${styles.card} ${styles.stack}`} noValidate onSubmit={submit} aria-labelledby="add-channel">
      <h4 id="add-channel">{edited === null ? t("channels.add") : t("channels.change", { name: edited.name })}</h4>
      <Field label={t("channels.kind")}>
        {(id) => (
          <select id={id} value={kindName} disabled={edited !== null} onChange={(event) => setKindName(event.target.value)}>
            {kinds.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <WrittenField label={t("name")} hint={t("channels.nameHint")} value={name} placeholder="phone" onChange={setName} />
      {(kind?.setup ?? []).map((setup) => {
        const isKept = edited?.secrets.includes(setup.key) ?? false;
        return (
          <Field key={setup.key} label={setup.label} hint={isKept ? `${setup.help} ${t("channels.kept")}` : setup.help}>
            {(id, hint) => (
              <input
                id={id}
                aria-describedby={hint}
                type={setup.is_secret ? "password" : "text"}
                autoComplete="off"
                placeholder={setup.default ?? ""}
                value={values[setup.key] ?? ""}
                onChange={(event) => setValues((before) => ({ ...before, [setup.key]: event.target.value }))}
              />
            )}
          </Field>
        );
      })}
      <WrittenField label={t("channels.allow")} hint={t("channels.allowHint")} value={allow} placeholder="" rows={2} onChange={setAllow} />
      <label>
        <input type="checkbox" checked={enabled} onChange={(event) => setEnabled(event.target.checked)} /> {t("channels.enabled")}
      </label>
      {me?.admin && (
        <label>
          <input type="checkbox" checked={shared} onChange={(event) => setShared(event.target.checked)} /> {t("channels.share")}
        </label>
      )}
      <Problem text={save.error} />
      <div className={styles.formEnd}>
        <button type="submit" className="primary" disabled={save.busy}>
          {t("save")}
        </button>
        <span role="status" className="hint">
          {saved !== null && t("channels.saved", { name: saved })}
        </span>
      </div>
    </form>
  );
}
