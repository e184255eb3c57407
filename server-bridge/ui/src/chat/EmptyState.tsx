import { CircleCheck } from "lucide-react";
import { type ReactNode, useId } from "react";
import { Trans, useTranslation } from "react-i18next";
import { useFrame } from "../frame/context";
import { useAddress } from "../lib/useAddress";
import { useLoaded } from "../lib/useLoaded";
import { useActions, useAppState } from "../state/context";
import styles from "./chat.module.css";

/** Shown in a chat without messages: suggestions, and the setup steps that are not done yet. */
export function EmptyState() {
  const { t } = useTranslation("chat");
  const { runners, settings } = useAppState("runners", "settings");
  const actions = useActions();
  const { openSettings } = useFrame();
  // Loaded again when the settings are closed: a model may have been added.
  const models = useLoaded(["models of a chat"], () => actions.models(null), useAddress());
  const code = [<code key="code" />];
  const help = <Trans t={t} i18nKey="empty.help" components={code} />;
  const hasRunner = settings === null || runners.length > 0;
  const hasModel = models.value === null || models.value.models.length > 0;
  return (
    <section className={styles.empty} aria-label={t("empty.label")}>
      <h1>{t("empty.title")}</h1>
      {hasRunner && hasModel ? (
        <>
          <p>
            <Trans t={t} i18nKey="empty.about" components={code} />
          </p>
          <p>{help}</p>
        </>
      ) : (
        <ol className={styles.firstSteps} aria-label={t("empty.steps")}>
          <FirstStep title={t("empty.runner")} isDone={hasRunner} action={t("empty.connect")} onAction={() => openSettings("runners")}>
            {t("empty.runnerAbout")} <Trans t={t} i18nKey="empty.here" components={code} />
          </FirstStep>
          <FirstStep title={t("empty.model")} isDone={hasModel} action={t("addModel")} onAction={() => openSettings("models")}>
            {t("empty.modelAbout")}
          </FirstStep>
          <li className={styles.call}>
            <h2>{t("empty.say")}</h2>
            <p>
              <Trans t={t} i18nKey="empty.sayAbout" components={code} /> {help}
            </p>
          </li>
        </ol>
      )}
    </section>
  );
}

interface StepProps {
  title: string;
  isDone: boolean;
  action: string;
  onAction: () => void;
  children: ReactNode;
}

function FirstStep({ title, isDone, action, onAction, children }: StepProps) {
  const { t } = useTranslation("chat");
  const id = useId();
  return (
    <li className={styles.call}>
      <h2 id={id}>
        {isDone && <CircleCheck aria-hidden="true" />}
        {title} {isDone && <span className="unseen">{t("empty.done")}</span>}
      </h2>
      {!isDone && (
        <>
          <p>{children}</p>
          <button type="button" className="primary" aria-describedby={id} onClick={onAction}>
            {action}
          </button>
        </>
      )}
    </li>
  );
}
