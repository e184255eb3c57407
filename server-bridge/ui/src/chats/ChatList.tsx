import { Search, SquarePen, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useFrame } from "../frame/context";
import { GroupList } from "../groups/GroupList";
import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import { ChatRows } from "./ChatRows";
import { useChatSearch } from "./useChatSearch";
import { classes } from "../lib/classes";
import styles from "./chats.module.css";

interface Props {
  /** True if the drawer that contains the list on a narrow page is open. */
  open: boolean;
  /** True if a wide page shows the list. */
  shown: boolean;
  onDone: () => void;
}

export function ChatList({ open, shown, onDone }: Props) {
  const { t } = useTranslation("chats");
  const { chats: all } = useAppState("chats");
  const actions = useActions();
  const { focusComposer } = useFrame();
  const [query, setQuery] = useState("");
  const { chats, searching } = useChatSearch(all, query);
  const create = useAction(actions.newChat);
  const list = useRef<HTMLElement>(null);
  const createAndClose = async () => {
    if (!(await create.run())) return;
    setQuery("");
    onDone();
    focusComposer();
  };
  useEffect(() => {
    if (open) list.current?.querySelector<HTMLElement>("[aria-current], [data-new-chat]")?.focus();
  }, [open]);
  return (
    <>
      {open && <div className={styles.drawerShade} onClick={onDone} />}
      <nav
        id="chat-list"
        ref={list}
        className={classes(styles.chatList, open && styles.open, !shown && styles.putAway)}
        aria-label={t("title")}
        onKeyDown={(event) => {
          if (event.key === "Escape" && open) onDone();
        }}
      >
        <div className={styles.chatListHead}>
          <div className={styles.search}>
            <Search aria-hidden="true" />
            <input
              type="search"
              aria-label={t("search")}
              placeholder={t("search")}
              value={query}
              onChange={(event) => setQuery(event.target.value)}
              onKeyDown={(event) => {
                if (event.key === "ArrowDown") {
                  event.preventDefault();
                  list.current?.querySelector<HTMLElement>("[data-chat] [tabindex='0']")?.focus();
                } else if (event.key === "Escape" && query !== "") {
                  event.stopPropagation();
                  setQuery("");
                }
              }}
            />
            {query !== "" && (
              <button type="button" className="quiet icon" aria-label={t("clearSearch")} onClick={() => setQuery("")}>
                <X aria-hidden="true" />
              </button>
            )}
          </div>
          <button
            type="button"
            className={`quiet icon ${styles.newChat}`}
            data-new-chat
            aria-label={t("newChat")}
            title={t("newChat")}
            disabled={create.busy}
            onClick={() => void createAndClose()}
          >
            <SquarePen aria-hidden="true" />
          </button>
        </div>
        {create.error !== null && (
          <p className="problem" role="alert">
            {create.error}
          </p>
        )}
        <GroupList onOpened={onDone} />
        <ChatRows chats={chats} grouped={query.trim() === ""} onOpened={onDone} />
        <p className={`hint ${styles.chatListNote}`} role="status">
          {searching ? t("searching") : query.trim() !== "" ? t("found", { count: chats.length }) : chats.length === 0 ? t("none") : ""}
        </p>
      </nav>
    </>
  );
}
