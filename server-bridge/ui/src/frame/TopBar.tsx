import { PanelLeft, Search, Settings } from "lucide-react";
import { useTranslation } from "react-i18next";
import { PANELS } from "../panels";
import { WhereMenu } from "../where/WhereMenu";
import { useFrame } from "./context";
import { Logo } from "./Logo";
import { IS_MAC, keyNames } from "./shortcuts";
import styles from "./frame.module.css";

interface Props {
  /** True if the drawer of a narrow page is open. */
  chatsOpen: boolean;
  /** True if a wide page shows the list next to the chat. */
  listShown: boolean;
  onToggleChats: () => void;
  /** Receives the element for open menus. */
  onMenuPlace: (place: HTMLElement | null) => void;
}

export function TopBar({ chatsOpen, listShown, onToggleChats, onMenuPlace }: Props) {
  const { t } = useTranslation("frame");
  const { t: panels } = useTranslation("panels");
  const { panel, showPanel, showOverlay, openSettings } = useFrame();
  const palette = keyNames("palette", IS_MAC).join("+");
  return (
    <header className={styles.topBar}>
      <button
        type="button"
        className="quiet icon"
        aria-label={t("chats")}
        title={`${t("chats")} (${keyNames("toggleChats", IS_MAC).join("+")})`}
        aria-expanded={chatsOpen || listShown}
        aria-controls="chat-list"
        onClick={onToggleChats}
      >
        <PanelLeft aria-hidden="true" />
      </button>
      <span className={`${styles.brand} only-wide`}>
        <Logo /> Sandbridge
      </span>
      <WhereMenu />
      <span className={`${styles.spacer} only-wide`} />
      <button type="button" className={`${styles.paletteButton} only-wide`} onClick={() => showOverlay("palette")}>
        <Search aria-hidden="true" />
        {t("palette")}
        <kbd aria-hidden="true">{palette}</kbd>
      </button>
      <button type="button" className="quiet icon only-narrow" aria-label={t("palette")} onClick={() => showOverlay("palette")}>
        <Search aria-hidden="true" />
      </button>
      {PANELS.map(({ id, icon: Icon }) => (
        <button
          key={id}
          type="button"
          className="quiet icon"
          aria-label={panels(id)}
          title={panels(id)}
          aria-pressed={panel === id}
          onClick={() => showPanel(panel === id ? null : id)}
        >
          <Icon aria-hidden="true" />
        </button>
      ))}
      <button type="button" className="quiet icon" aria-label={t("settings")} title={t("settings")} onClick={() => openSettings()}>
        <Settings aria-hidden="true" />
      </button>
      <div ref={onMenuPlace} className={styles.menus} />
    </header>
  );
}
