import { useTranslation } from "react-i18next";
import { Dialog } from "../kit/Dialog";
import { IS_MAC, keyNames, SHORTCUTS, type Shortcut } from "./shortcuts";
import styles from "./frame.module.css";

/** A dialog with all shortcuts that work everywhere, and those of the list of chats. */
export function ShortcutHelp({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("frame");
  const everywhere = (Object.keys(SHORTCUTS) as Shortcut[]).map((shortcut) => ({
    name: t(`shortcuts.${shortcut}`),
    keys: keyNames(shortcut, IS_MAC),
  }));
  const list = [
    { name: t("shortcuts.move"), keys: ["↑", "↓"] },
    { name: t("shortcuts.open"), keys: ["Enter"] },
    { name: t("shortcuts.rename"), keys: ["F2"] },
    { name: t("shortcuts.delete"), keys: ["Delete"] },
  ];
  return (
    <Dialog title={t("shortcuts.title")} onClose={onClose}>
      <div className={styles.shortcuts}>
        <Rows rows={everywhere} />
        <h3>{t("shortcuts.inList")}</h3>
        <Rows rows={list} />
      </div>
    </Dialog>
  );
}

function Rows({ rows }: { rows: { name: string; keys: string[] }[] }) {
  return (
    <dl>
      {rows.map(({ name, keys }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {keys.map((key) => (
              <kbd key={key}>{key}</kbd>
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}
