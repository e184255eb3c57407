import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Logo } from "../frame/Logo";
import "../settings/settings.css";
import "./setup.css";

const STEPS = ["account", "model", "runner"] as const;
export type Step = (typeof STEPS)[number];

/** The page of one step of the set-up, with all of them above it. */
export function Steps({ step, children }: { step: Step; children: ReactNode }) {
  const { t } = useTranslation("setup");
  const at = STEPS.indexOf(step);
  return (
    <main className="setup">
      <div className="setup-page">
        <p className="setup-brand">
          <Logo /> Sandbridge
        </p>
        <ol className="steps" aria-label={t("steps")}>
          {STEPS.map((name, index) => (
            <li key={name} aria-current={index === at ? "step" : undefined} className={index < at ? "past" : undefined}>
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
