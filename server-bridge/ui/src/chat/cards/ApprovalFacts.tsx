import { useTranslation } from "react-i18next";
import { placeName } from "../../state/where";
import type { ApprovalDocument, Edit } from "../../types";
import styles from "./cards.module.css";

/**
 * The details of an approval: the action, the file, the place, and each text from the model in a separate element, so that none
 * of it can be mistaken for the page's words.
 */
export function ApprovalFacts({ approval, edit }: { approval: ApprovalDocument; edit: Edit | null }) {
  const { t } = useTranslation("chat");
  const { target, place, note } = approval;
  const parts = approval.parts.filter((part) => edit === null || part.is_in_edit !== true);
  return (
    <>
      <dl className={styles.facts}>
        <dt>{t("approval.effect")}</dt>
        <dd>{approval.effect}</dd>
        {target !== undefined && (
          <>
            <dt>{t("approval.target")}</dt>
            <dd>
              <code>{target}</code>
            </dd>
          </>
        )}
        {place !== undefined && (
          <>
            <dt>{t("approval.machine")}</dt>
            <dd>{place.user === undefined ? placeName(place.machine) : t("approval.as", { machine: placeName(place.machine), user: place.user })}</dd>
            <dt>{t("approval.directory")}</dt>
            <dd>
              <code>{place.directory}</code>
            </dd>
          </>
        )}
        {note !== undefined && (
          <>
            <dt>{t("approval.note")}</dt>
            <dd className="problem">{note}</dd>
          </>
        )}
      </dl>
      {parts.map((part, at) => (
        <figure key={at} className={styles.part}>
          <figcaption>{part.label}</figcaption>
          <pre className={styles.output} role="group" tabIndex={0} aria-label={part.label}>
            {part.text}
          </pre>
        </figure>
      ))}
    </>
  );
}
