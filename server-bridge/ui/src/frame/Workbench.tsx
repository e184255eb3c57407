import { useEffect, useState } from "react";
import { ChatView } from "../chat/ChatView";
import { ChatList } from "../chats/ChatList";
import type { Panel } from "../panels";
import { onPanelWanted } from "../panels/open";
import { SettingsPanel } from "../settings/SettingsPanel";
import { Banners } from "./Banners";
import { Dock } from "./Dock";
import { TopBar } from "./TopBar";

/** The page of someone who is signed in: the list of chats, the open one, and a panel beside it. */
export function Workbench() {
  const [settingsOpen, setSettingsOpen] = useState(false);
  const [chatsOpen, setChatsOpen] = useState(false);
  const [panel, setPanel] = useState<Panel["id"] | null>(null);
  useEffect(() => onPanelWanted(setPanel), []);
  return (
    <div className="workbench">
      <TopBar
        chatsOpen={chatsOpen}
        onToggleChats={() => setChatsOpen(!chatsOpen)}
        panel={panel}
        onPanel={setPanel}
        onSettings={() => setSettingsOpen(true)}
      />
      <Banners />
      <div className="columns">
        <ChatList open={chatsOpen} onDone={() => setChatsOpen(false)} />
        <ChatView onConnectRunner={() => setSettingsOpen(true)} />
        {panel !== null && <Dock panel={panel} onClose={() => setPanel(null)} />}
      </div>
      {settingsOpen && <SettingsPanel onClose={() => setSettingsOpen(false)} />}
    </div>
  );
}
