import { Ellipsis, Pin } from "lucide-react";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { exportUrl } from "../api";
import { Menu } from "../kit/Menu";
import { download } from "../lib/download";
import { useActions } from "../state/context";
import type { Activity } from "../state/activity";
import { placeName } from "../state/where";
import type { Chat } from "../types";
import { TitleField } from "./TitleField";
import { classes } from "../lib/classes";
import styles from "./chats.module.css";

interface Props {
  chat: Chat;
  /** The name of the day, above its first row; null in other rows. */
  heading: string | null;
  current: boolean;
  /** True for the one row that Tab reaches. */
  reachable: boolean;
  activity: Activity | null;
  renaming: boolean;
  onOpen: () => void;
  onRename: () => void;
  /** Called when the title is no longer being edited. */
  onRenamed: () => void;
  onDelete: () => void;
}

export function ChatRow({ chat, heading, current, reachable, activity, renaming, onOpen, onRename, onRenamed, onDelete }: Props) {
  const { t } = useTranslation("chats");
  const actions = useActions();
  const button = useRef<HTMLButtonElement>(null);
  const byKey = useRef(false);
  useEffect(() => {
    // If a key ended the renaming, the focus returns to the row.
    if (!renaming && byKey.current) button.current?.focus();
    byKey.current = false;
  }, [renaming]);
  const finish = (withKey: boolean) => {
    byKey.current = withKey;
    onRenamed();
  };
  const title = chat.title || t("untitled");
  return (
    <>
      {heading !== null && <h2 className={styles.day}>{heading}</h2>}
      <div className={current ? `${styles.chatRow} ${styles.current}` : styles.chatRow} data-testid="chat" data-chat={chat.id}>
        {renaming ? (
          <TitleField chat={chat} onDone={finish} />
        ) : (
          <>
            <button
              type="button"
              ref={button}
              className={styles.title}
              data-title
              tabIndex={reachable ? 0 : -1}
              aria-current={current ? "page" : undefined}
              title={title}
              onClick={onOpen}
              onDoubleClick={onRename}
            >
              {activity !== null && (
                <span className={classes(styles.activity, styles[activity])} role="img" aria-label={t(activity)} title={t(activity)} />
              )}
              <span className={styles.titleText}>{title}</span>
              {chat.runner !== null && (
                <span className={styles.bound} title={t("bound", { place: placeName(chat.runner) })}>
                  <Pin aria-hidden="true" />
                </span>
              )}
              {chat.found && <span className={styles.excerpt}>{chat.found.excerpt}</span>}
            </button>
            <Menu
              trigger={
                <button type="button" className={`quiet icon ${styles.more}`} tabIndex={reachable ? 0 : -1} aria-label={t("actionsOf", { title })}>
                  <Ellipsis aria-hidden="true" />
                </button>
              }
              items={[
                { label: t("rename"), onSelect: onRename },
                { label: t("fork"), onSelect: () => void actions.forkChat(chat.id).catch(actions.report) },
                { label: t("exportMarkdown"), onSelect: () => void download(exportUrl(chat.id, "markdown")).catch(actions.report) },
                { label: t("exportJson"), onSelect: () => void download(exportUrl(chat.id, "json")).catch(actions.report) },
                { label: t("delete"), danger: true, onSelect: onDelete },
              ]}
            />
          </>
        )}
      </div>
    </>
  );
}
