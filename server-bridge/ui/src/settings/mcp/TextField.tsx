import { useTranslation } from "react-i18next";
import { WrittenField } from "../WrittenField";
import type { Draft, DraftField, DraftProblems } from "./draft";

interface Props {
  draft: Draft;
  problems: DraftProblems;
  change: (changed: Partial<Draft>) => void;
  name: DraftField;
  label: string;
  hint?: string;
  placeholder: string;
  /** The height in lines, for a text of several lines. */
  rows?: number;
  /** True for a secret: its text is not shown. */
  hidden?: boolean;
}

/** A field of the form whose text is taken exactly as typed, with its problem below it. */
export function TextField({ draft, problems, change, name, label, hint, placeholder, rows, hidden }: Props) {
  const { t } = useTranslation("settings");
  const problem = problems[name];
  const words = problem && t(`mcp.problems.${problem.kind}`, { line: problem.line ?? 0, name: problem.name ?? "" });
  const onChange = (value: string) => change({ [name]: value });
  return <WrittenField value={draft[name]} problem={words} {...{ label, hint, placeholder, rows, hidden, onChange }} />;
}
