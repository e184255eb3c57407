import { useTranslation } from "react-i18next";
import { ApiError, errorText } from "../../api";

/** The statuses for an answer that arrived after another answer, or after the question had ended. */
const TOO_LATE = [404, 409];

/**
 * The reason why an answer was not accepted. It is not an error if another window answered first: the card shows that answer when
 * it arrives.
 */
export function AnswerProblem({ problem }: { problem: Error | null }) {
  const { t } = useTranslation("chat");
  if (problem === null) return null;
  if (isTooLate(problem)) {
    return (
      <p className="hint" role="status">
        {t("answeredElsewhere")}
      </p>
    );
  }
  return (
    <p className="problem" role="alert">
      {errorText(problem)}
    </p>
  );
}

/** True if the question was already answered or has ended. */
export function isTooLate(problem: Error | null): boolean {
  return problem instanceof ApiError && TOO_LATE.includes(problem.status);
}
