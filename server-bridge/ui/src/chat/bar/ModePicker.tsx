import { Shield } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useActions } from "../../state/context";
import { APPROVAL_MODES, type ApprovalMode, type ChatDetails } from "../../types";
import { Picker } from "./Picker";

const ABOUT = { plan: "planAbout", ask: "askAbout", "auto-edit": "autoEditAbout", full: "fullAbout" } as const;

interface Props {
  details: ChatDetails;
  onChange: (change: Partial<ChatDetails>) => void;
}

/** Chooses how much the chat's agent may do without asking. */
export function ModePicker({ details, onChange }: Props) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const choose = async (mode: ApprovalMode) => {
    try {
      await actions.setApproval(details.id, mode);
      onChange({ approval: mode });
    } catch (error) {
      actions.report(error);
    }
  };
  return (
    <Picker
      name={t("mode.label")}
      value={details.approval}
      icon={<Shield aria-hidden="true" />}
      choices={APPROVAL_MODES.map((mode) => ({ value: mode, label: t(`mode.${mode}`), about: t(`mode.${ABOUT[mode]}`) }))}
      onChoose={(mode) => void choose(mode as ApprovalMode)}
    />
  );
}
