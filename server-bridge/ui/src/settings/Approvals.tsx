import { useTranslation } from "react-i18next";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useActions, useAppState } from "../state/context";
import { APPROVAL_MODES, type ApprovalMode } from "../types";
import { ApprovalRules } from "./ApprovalRules";
import { Choices, Problem, Ready } from "./parts";
import { PermissionRules } from "./PermissionRules";
import { useRequests } from "./requests";
import type { Preferences } from "./types";

export default function Approvals() {
  const { open_chat_id: chatId } = useAppState("open_chat_id");
  const requests = useRequests();
  const loaded = useLoaded(["preferences"], requests.preferences);
  return (
    <>
      <Ready loaded={loaded}>
        {(preferences) => <DefaultMode known={preferences} onSaved={loaded.replace} />}
      </Ready>
      {chatId !== null && <ChatMode key={chatId} chatId={chatId} />}
      <PermissionRules />
      <ApprovalRules />
    </>
  );
}

/** The mode that a new chat begins with. */
function DefaultMode({ known, onSaved }: { known: Preferences; onSaved: (preferences: Preferences) => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const choices = useModeChoices();
  const save = useAction(async (approval: ApprovalMode) => onSaved(await requests.setPreferences({ ...known, approval })));
  return (
    <>
      <Choices
        legend={t("approvals.newChats")}
        name="default-approval"
        value={known.approval ?? "ask"}
        choices={choices}
        disabled={save.busy}
        onChoose={(mode) => void save.run(mode)}
      />
      <Problem text={save.error} />
    </>
  );
}

/** The mode of the chat that is open below the settings. */
function ChatMode({ chatId }: { chatId: string }) {
  const { t } = useTranslation("settings");
  const { chats } = useAppState("chats");
  const { chatDetails, setApproval } = useActions();
  const loaded = useLoaded(["chat", chatId], () => chatDetails(chatId));
  const choices = useModeChoices();
  const title = chats.find((chat) => chat.id === chatId)?.title || t("approvals.untitled");
  const save = useAction(async (wanted: ApprovalMode) => {
    await setApproval(chatId, wanted);
    if (loaded.value !== null) loaded.replace({ ...loaded.value, approval: wanted });
  });
  return (
    <>
      <Ready loaded={loaded}>
        {(chat) => (
          <Choices
            legend={t("approvals.thisChat", { title })}
            name="chat-approval"
            value={chat.approval}
            choices={choices}
            disabled={save.busy}
            onChoose={(mode) => void save.run(mode)}
          />
        )}
      </Ready>
      <Problem text={save.error} />
    </>
  );
}

function useModeChoices() {
  const { t } = useTranslation("settings");
  return APPROVAL_MODES.map((mode) => ({
    value: mode,
    label: t(`approvals.modes.${mode}`),
    hint: t(`approvals.hints.${mode}`),
    warns: mode === "full",
  }));
}
