import { Logo } from "./Logo";
import { WherePicker } from "./WherePicker";

interface Props {
  chatsOpen: boolean;
  onToggleChats: () => void;
  onSettings: () => void;
}

export function TopBar({ chatsOpen, onToggleChats, onSettings }: Props) {
  return (
    <header className="top-bar">
      <button
        type="button"
        className="quiet only-narrow"
        aria-expanded={chatsOpen}
        aria-controls="chat-list"
        onClick={onToggleChats}
      >
        Chats
      </button>
      <span className="brand only-wide">
        <Logo /> Sandbridge
      </span>
      <WherePicker />
      <button type="button" className="quiet" onClick={onSettings}>
        Settings
      </button>
    </header>
  );
}
