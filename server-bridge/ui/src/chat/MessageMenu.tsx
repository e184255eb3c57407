import { Ellipsis } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { exportUrl } from "../api";
import { Menu, type MenuItem } from "../kit/Menu";
import { copyText } from "../lib/copyText";
import { download } from "../lib/download";
import { useActions } from "../state/context";
import { beganTurn } from "../state/conversation";
import type { Message } from "../types";
import { splitAttached } from "./AttachedFiles";
import { TakeBackDialog } from "./TakeBackDialog";
import styles from "./messages.module.css";

/** The menu of a message: copy, edit, repeat, fork, take back and export. */
export function MessageMenu({ message }: { message: Message }) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const [takingBack, setTakingBack] = useState(false);
  const isUsers = message.role === "user";
  const canGoOn = message.undone !== true;
  const items: MenuItem[] = [{ label: t("actions.copy"), onSelect: () => void copyText(splitAttached(message.text).text) }];
  if (isUsers) {
    items.push({ label: t("actions.edit"), onSelect: () => actions.edit(message) });
    items.push({ label: t("actions.again"), onSelect: () => void actions.sayAgain(message).catch(actions.report) });
  }
  if (canGoOn) {
    items.push({ label: t("actions.fork"), onSelect: () => void actions.fork(message.chat_id, message.id).catch(actions.report) });
  }
  if (beganTurn(message)) items.push({ label: t("actions.takeBack"), danger: true, onSelect: () => setTakingBack(true) });
  for (const [format, label] of [["markdown", t("actions.exportMarkdown")], ["json", t("actions.exportJson")]] as const) {
    items.push({ label, onSelect: () => void download(exportUrl(message.chat_id, format)).catch(actions.report) });
  }
  return (
    <div className={styles.messageMenu}>
      <Menu
        trigger={
          <button type="button" className="quiet icon small" aria-label={t("actions.open")}>
            <Ellipsis aria-hidden="true" />
          </button>
        }
        items={items}
      />
      {takingBack && <TakeBackDialog message={message} onClose={() => setTakingBack(false)} />}
    </div>
  );
}
