import { type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useAction } from "../../lib/useAction";
import { ANSWER_CHARS } from "../../limits";
import { useActions } from "../../state/context";
import type { Message } from "../../types";
import { useAnswer } from "../composer/useDraft";
import { Markdown } from "../markdown/Markdown";
import { AnswerProblem, isTooLate } from "./AnswerProblem";
import styles from "./cards.module.css";

interface Props {
  message: Message;
  question: string;
  options: string[];
}

/** A question from the model: answers to choose from, and a field for another answer. */
export function Question({ message, question, options }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const answer = useAction(actions.answer);
  const isClosed = answer.busy || isTooLate(answer.problem);
  const [words, setWords] = useAnswer(message.id);
  const say = async (text: string | null) => {
    if (await answer.run(message.chat_id, message.id, text)) setWords("");
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (words.trim() !== "" && !isClosed) void say(words);
  };
  return (
    <form className={styles.approval} aria-label={t("question.label")} data-asking={message.id} tabIndex={-1} onSubmit={submit}>
      <Markdown text={question} />
      {options.length > 0 && (
        <div className={styles.options}>
          {options.map((option, at) => (
            <button key={at} type="button" disabled={isClosed} onClick={() => void say(option)}>
              {option}
            </button>
          ))}
        </div>
      )}
      <div className={styles.answers}>
        <input
          aria-label={t("question.own")}
          placeholder={t("question.ownPlaceholder")}
          maxLength={ANSWER_CHARS}
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <button type="submit" className="primary" disabled={isClosed || words.trim() === ""}>
          {t("question.answer")}
        </button>
        <button type="button" className="quiet" disabled={isClosed} onClick={() => void say(null)}>
          {t("question.none")}
        </button>
      </div>
      <AnswerProblem problem={answer.problem} />
    </form>
  );
}
