import { type FormEvent, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { classes } from "../../lib/classes";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import type { CardDocument, CardPart, Message } from "../../types";
import { Markdown } from "../markdown/Markdown";
import { AnswerProblem, isTooLate } from "./AnswerProblem";
import styles from "./card.module.css";

interface Props {
  message: Message;
  card: CardDocument;
}

type Control = Extract<CardPart, { kind: "select" | "input" }>;
type Button = Extract<CardPart, { kind: "button" }>;

/** A card of the agent. A sent card with fields or buttons is a form: pressing a button sends all its values. */
export function CardView({ message, card }: Props) {
  const { t } = useTranslation("chat");
  const title = useId();
  const answerCard = useActions().answerCard;
  const answer = useAction(answerCard);
  const parts = card.blocks.flatMap((block) => block.parts);
  const controls = parts.filter((part): part is Control => part.kind === "select" || part.kind === "input");
  const buttons = parts.filter((part): part is Button => part.kind === "button");
  const [values, setValues] = useState<Record<string, string>>({});
  const taken = card.answer;
  const isClosed = !card.is_sent || taken !== undefined || message.undone === true || answer.busy || isTooLate(answer.problem);
  const given = taken?.reply.values ?? values;

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const pressed = (event.nativeEvent as SubmitEvent).submitter as HTMLButtonElement | null;
    // Enter in a field presses the first button.
    const button = pressed?.value ?? buttons[0]?.name ?? "";
    const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value.trim() !== ""));
    if (!isClosed) void answer.run(message.chat_id, message.id, { button, values: filled });
  };
  const show = (part: CardPart, at: number, topLevel: number) => {
    switch (part.kind) {
      case "button":
        return (
          <button key={at} type="submit" value={part.name} className={classes(styles.button, styles[part.tone])} disabled={isClosed}>
            {part.label}
          </button>
        );
      case "select":
      case "input":
        return (
          <Field
            key={at}
            control={part}
            value={given[part.name] ?? ""}
            isClosed={isClosed}
            onChange={(value) => setValues({ ...values, [part.name]: value })}
          />
        );
      default:
        return <Content key={at} part={part} topLevel={topLevel} />;
    }
  };
  return (
    <form className={classes(styles.card, styles[card.tone])} aria-labelledby={title} data-testid="card" onSubmit={submit}>
      <h2 id={title}>{card.title}</h2>
      {card.blocks.map((block, at) => (
        <div key={at}>
          {block.title !== undefined && <h3>{block.title}</h3>}
          <div className={styles[block.layout]}>{block.parts.map((part, index) => show(part, index, block.title === undefined ? 3 : 4))}</div>
        </div>
      ))}
      {card.is_sent && controls.length > 0 && buttons.length === 0 && (
        <button type="submit" value="" className={classes(styles.button, styles.primary)} disabled={isClosed}>
          {t("card.submit")}
        </button>
      )}
      {!card.is_sent && <p className="hint">{t("card.draft")}</p>}
      {taken !== undefined && (
        <p className={styles.answer} role="status">
          {t("card.answered", { answer: taken.label })}
        </p>
      )}
      <AnswerProblem problem={answer.problem} />
    </form>
  );
}

interface FieldProps {
  control: Control;
  value: string;
  isClosed: boolean;
  onChange: (value: string) => void;
}

/** A choice or a text field, with its label. */
function Field({ control, value, isClosed, onChange }: FieldProps) {
  const { t } = useTranslation("chat");
  const id = useId();
  const shared = { id, value, disabled: isClosed, required: control.is_required };
  return (
    <p className={styles.field}>
      <label htmlFor={id}>
        {control.label}
        {control.is_required && <span aria-hidden="true"> *</span>}
      </label>
      {control.kind === "select" ? (
        <select {...shared} onChange={(event) => onChange(event.target.value)}>
          <option value="">{t("card.choose")}</option>
          {control.options.map((option) => (
            <option key={option}>{option}</option>
          ))}
        </select>
      ) : control.is_long ? (
        <textarea {...shared} rows={3} placeholder={control.placeholder} onChange={(event) => onChange(event.target.value)} />
      ) : (
        <input {...shared} placeholder={control.placeholder} onChange={(event) => onChange(event.target.value)} />
      )}
    </p>
  );
}

/** A part of a card that only displays something. Only texts are Markdown, with headings from `topLevel`. */
function Content({ part, topLevel }: { part: Exclude<CardPart, Control | Button>; topLevel: number }) {
  const { t } = useTranslation("chat");
  switch (part.kind) {
    case "text":
      return <Markdown text={part.text} topLevel={topLevel} />;
    case "fields":
      return (
        <dl className={styles.fields}>
          {part.fields.map((field, at) => (
            <div key={at}>
              <dt>{field.name}</dt>
              <dd>{field.value}</dd>
            </div>
          ))}
        </dl>
      );
    case "table":
      return (
        <div className={styles.scroll} role="group" tabIndex={0} aria-label={t("card.table")}>
          <table>
            <thead>
              <tr>
                {part.columns.map((column, at) => (
                  <th key={at} scope="col">
                    {column}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {part.rows.map((row, at) => (
                <tr key={at}>
                  {row.map((cell, column) => (
                    <td key={column}>{cell}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case "link":
      return /^https?:\/\//i.test(part.url) ? (
        <a href={part.url} target="_blank" rel="noopener noreferrer">
          {part.text}
        </a>
      ) : (
        <span>{part.text}</span>
      );
    case "divider":
      return <hr />;
  }
}
