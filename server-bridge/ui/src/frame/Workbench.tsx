import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from "react";
import { ChatView } from "../chat/ChatView";
import { ChatList } from "../chats/ChatList";
import { groupInAddress, settingsSection, showSettings, showWorkbench } from "../lib/location";
import { useAddress } from "../lib/useAddress";
import { MenuPlace } from "../kit/MenuPortal";
import { PANELS, type Panel } from "../panels";
import { askForShell, onPanelWanted } from "../panels/open";
import { useActions } from "../state/context";
import { Banners } from "./Banners";
import { FrameContext, type Frame, type Overlay } from "./context";
import { Dock } from "./Dock";
import { ShortcutHelp } from "./ShortcutHelp";
import type { Shortcut } from "./shortcuts";
import { TopBar } from "./TopBar";
import { useKept } from "./useKept";
import { useShortcuts } from "./useShortcuts";
import styles from "./frame.module.css";

const GroupView = lazy(() => import("../groups/GroupView"));
const SettingsDialog = lazy(() => import("../settings/SettingsDialog"));
const Palette = lazy(() => import("./Palette"));

/** The page of a signed-in user: the list of groups and chats, the open one, and a panel next to it. */
export function Workbench() {
  const actions = useActions();
  const address = useAddress();
  const section = settingsSection(address);
  const group = groupInAddress(address);
  const [chatsOpen, setChatsOpen] = useState(false);
  const [listShown, keepListShown] = useKept("sandbridge.chats", "shown");
  const [overlay, showOverlay] = useState<Overlay | null>(null);
  const [panel, showPanel] = usePanel();
  const [menuPlace, setMenuPlace] = useState<HTMLElement | null>(null);
  useEffect(() => onPanelWanted(showPanel), [showPanel]);
  const openSettings = useCallback((wanted = "") => showSettings(wanted), []);
  const frame: Frame = useMemo(
    () => ({ openSettings, panel, showPanel, showOverlay, focusComposer }),
    [openSettings, panel, showPanel],
  );
  const toggleChats = () => {
    if (window.matchMedia("(width < 48rem)").matches) setChatsOpen(!chatsOpen);
    else keepListShown(listShown === "shown" ? "hidden" : "shown");
  };
  const run: Record<Shortcut, () => void> = {
    palette: () => showOverlay((open) => (open === "palette" ? null : "palette")),
    newChat: () => void actions.newChat().then(focusComposer, actions.report),
    focusComposer,
    toggleChats,
    settings: () => openSettings(),
    terminal: () => showPanel(panel === "terminal" ? null : "terminal"),
    shortcuts: () => showOverlay("shortcuts"),
  };
  useShortcuts((shortcut) => run[shortcut]());
  return (
    <FrameContext value={frame}>
      <MenuPlace value={menuPlace}>
        <div className={styles.workbench}>
          <TopBar chatsOpen={chatsOpen} listShown={listShown === "shown"} onToggleChats={toggleChats} onMenuPlace={setMenuPlace} />
          <Banners />
          <div className={styles.columns}>
            <ChatList open={chatsOpen} shown={listShown === "shown"} onDone={() => setChatsOpen(false)} />
            {group === null ? (
              <ChatView />
            ) : (
              <Suspense>
                <GroupView address={group} />
              </Suspense>
            )}
            {panel !== null && <Dock panel={panel} onClose={() => showPanel(null)} />}
          </div>
          <Suspense>
            {section !== null && <SettingsDialog section={section} onClose={showWorkbench} />}
            {overlay === "palette" && <Palette onClose={() => showOverlay(null)} />}
          </Suspense>
          {overlay === "shortcuts" && <ShortcutHelp onClose={() => showOverlay(null)} />}
        </div>
      </MenuPlace>
    </FrameContext>
  );
}

function focusComposer(): void {
  document.querySelector<HTMLTextAreaElement>("textarea[data-composer]")?.focus();
}

/** The open panel stays open after a reload. */
function usePanel(): [Panel["id"] | null, (panel: Panel["id"] | null) => void] {
  const [kept, keep] = useKept("sandbridge.panel", null);
  const known = PANELS.find((panel) => panel.id === kept);
  const show = useCallback(
    (panel: Panel["id"] | null) => {
      if (panel === "terminal") askForShell();
      keep(panel);
    },
    [keep],
  );
  return [known?.id ?? null, show];
}
