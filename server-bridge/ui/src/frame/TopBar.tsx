import { MessagesSquare, Settings } from "lucide-react";
import { useTranslation } from "react-i18next";
import { PANELS, type Panel } from "../panels";
import { WherePicker } from "../where/WherePicker";
import { Logo } from "./Logo";

interface Props {
  chatsOpen: boolean;
  onToggleChats: () => void;
  panel: Panel["id"] | null;
  onPanel: (panel: Panel["id"] | null) => void;
  onSettings: () => void;
}

export function TopBar({ chatsOpen, onToggleChats, panel, onPanel, onSettings }: Props) {
  const { t } = useTranslation("frame");
  const { t: panels } = useTranslation("panels");
  return (
    <header className="top-bar">
      <button
        type="button"
        className="quiet icon only-narrow"
        aria-label={t("chats")}
        aria-expanded={chatsOpen}
        aria-controls="chat-list"
        onClick={onToggleChats}
      >
        <MessagesSquare aria-hidden="true" />
      </button>
      <span className="brand only-wide">
        <Logo /> Sandbridge
      </span>
      <WherePicker />
      {PANELS.map(({ id, icon: Icon }) => (
        <button
          key={id}
          type="button"
          className="quiet icon"
          aria-label={panels(id)}
          aria-pressed={panel === id}
          onClick={() => onPanel(panel === id ? null : id)}
        >
          <Icon aria-hidden="true" />
        </button>
      ))}
      <button type="button" className="quiet icon" aria-label={t("settings")} onClick={onSettings}>
        <Settings aria-hidden="true" />
      </button>
    </header>
  );
}
