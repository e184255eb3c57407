/** Components that several sections use. */
import { type ReactNode, useId } from "react";
import { useTranslation } from "react-i18next";
import { classes } from "../lib/classes";
import type { Loaded } from "../lib/useLoaded";
import { plainly } from "./hookTexts";
import styles from "./settings.module.css";
import type { FoundProblem } from "./types";

/** An error message; nothing if the text is null. */
export function Problem({ text }: { text: string | null }) {
  return (
    <p className="problem" role="alert">
      {text}
    </p>
  );
}

/** A hook that returns a function which formats a problem as one line, with its location. */
export function useProblemLine() {
  const { t } = useTranslation("settings");
  return ({ origin, place, text }: FoundProblem): string => {
    const where = origin !== "" && place !== "" ? t("problems.place", { origin, place }) : origin || place;
    return where === "" ? text : t("problems.line", { where, text });
  };
}

/** The problems with files, plugins and machines, one per line. The files may not be trustworthy. */
export function Problems({ problems }: { problems: readonly FoundProblem[] }) {
  const line = useProblemLine();
  return (
    <>
      {problems.map((problem, at) => (
        <p key={at} className="caution">
          {plainly(line(problem))}
        </p>
      ))}
    </>
  );
}

/** Lists what an item may run that its approval does not cover; nothing if it covers everything. */
export function Unseen({ what }: { what: string[] }) {
  const { t } = useTranslation("settings");
  if (what.length === 0) return null;
  return <p className={classes("caution", styles.asWritten)}>{t("trust.unseen", { what: plainly(what.join(", ")) })}</p>;
}

/** Shows loaded data; until it has arrived, a notice that it is loading, or the error. */
export function Ready<T>({ loaded, children }: { loaded: Loaded<T>; children: (value: T) => ReactNode }) {
  const { t } = useTranslation("settings");
  if (loaded.value !== null) {
    return (
      <>
        <Problem text={loaded.error} />
        {children(loaded.value)}
      </>
    );
  }
  if (loaded.error === null) return <p className="hint">{t("loading")}</p>;
  return (
    <div className={styles.loadFailed}>
      <Problem text={loaded.error} />
      <button type="button" onClick={() => void loaded.reload()}>
        {t("tryAgain")}
      </button>
    </div>
  );
}

interface FieldProps {
  label: string;
  hint?: string;
  /** The problem with the field's contents. */
  problem?: string | null;
  /** Called with the id for the field and the ids of the elements that describe it. */
  children: (id: string, describedBy: string | undefined) => ReactNode;
}

/** A field with its label above, and below it its problem and its hint. */
export function Field({ label, hint, problem = null, children }: FieldProps) {
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const problemId = problem === null ? undefined : `${id}-problem`;
  const describedBy = [problemId, hintId].filter((part) => part !== undefined).join(" ") || undefined;
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      {children(id, describedBy)}
      {problem !== null && (
        <p className="problem" role="alert" id={problemId}>
          {problem}
        </p>
      )}
      {hint !== undefined && (
        <p className="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  legend: string;
  name: string;
  value: T | null;
  choices: readonly { value: T; label: string; hint?: string; warns?: boolean }[];
  disabled?: boolean;
  onChoose: (value: T) => void;
}

/** A choice of a few options, each with a short description. */
export function Choices<T extends string>({ legend, name, value, choices, disabled, onChoose }: ChoiceProps<T>) {
  const id = useId();
  return (
    <fieldset className={styles.choices} disabled={disabled}>
      <legend>{legend}</legend>
      {choices.map((choice) => (
        <div key={choice.value} className={styles.choice}>
          <label>
            <input
              type="radio"
              name={name}
              checked={value === choice.value}
              aria-describedby={choice.hint === undefined ? undefined : `${id}-${choice.value}`}
              onChange={() => onChoose(choice.value)}
            />
            {choice.label}
          </label>
          {choice.hint !== undefined && (
            <span id={`${id}-${choice.value}`} className={choice.warns ? "caution" : "hint"}>
              {choice.hint}
            </span>
          )}
        </div>
      ))}
    </fieldset>
  );
}
