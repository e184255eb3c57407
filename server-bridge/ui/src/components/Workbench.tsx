import { useState } from "react";
import { Banners } from "./Banners";
import { ChatList } from "./ChatList";
import { ChatView } from "./ChatView";
import { SettingsPanel } from "./SettingsPanel";
import { TopBar } from "./TopBar";

/** The page of someone who is signed in. */
export function Workbench() {
  const [settingsOpen, setSettingsOpen] = useState(false);
  const [chatsOpen, setChatsOpen] = useState(false);
  return (
    <div className="workbench">
      <TopBar
        chatsOpen={chatsOpen}
        onToggleChats={() => setChatsOpen(!chatsOpen)}
        onSettings={() => setSettingsOpen(true)}
      />
      <Banners />
      <div className="columns">
        <ChatList open={chatsOpen} onDone={() => setChatsOpen(false)} />
        <ChatView onConnectRunner={() => setSettingsOpen(true)} />
      </div>
      {settingsOpen && <SettingsPanel onClose={() => setSettingsOpen(false)} />}
    </div>
  );
}
