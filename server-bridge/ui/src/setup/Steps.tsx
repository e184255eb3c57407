import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Logo } from "../frame/Logo";
import styles from "./setup.module.css";
import room from "../settings/settings.module.css";

const STEPS = ["account", "model", "runner"] as const;
export type Step = (typeof STEPS)[number];

/** The page of one step of the setup, with a list of all steps above it. */
export function Steps({ step, children }: { step: Step; children: ReactNode }) {
  const { t } = useTranslation("setup");
  const at = STEPS.indexOf(step);
  return (
    <main className={`${styles.setup} ${room.alike}`}>
      <div className={styles.setupPage}>
        <p className={styles.setupBrand}>
          <Logo /> Sandbridge
        </p>
        <ol className={styles.steps} aria-label={t("steps")}>
          {STEPS.map((name, index) => (
            <li key={name} aria-current={index === at ? "step" : undefined} className={index < at ? styles.past : undefined}>
              {t(`${name}.step`)}
            </li>
          ))}
        </ol>
        <h1>{t(`${step}.title`)}</h1>
        <p className="hint">{t(`${step}.hint`)}</p>
        {children}
      </div>
    </main>
  );
}
