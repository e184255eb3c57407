import { Command } from "cmdk";
import { CornerDownLeft } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { Dialog } from "../kit/Dialog";
import { PALETTE_CHATS_COUNT, SEARCH_PAUSE_MS } from "../limits";
import { useActions, useAppState } from "../state/context";
import type { Chat } from "../types";
import { usePaletteGroups } from "./paletteGroups";
import styles from "./Palette.module.css";

/** The command palette: a dialog that finds chats, runners, settings and actions by typing. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation("frame");
  const [query, setQuery] = useState("");
  const chats = usePaletteChats(query);
  const groups = usePaletteGroups();
  const actions = useActions();
  const done = (run: () => void) => () => {
    onClose();
    run();
  };
  return (
    <Dialog title={t("palette")} titleUnseen shape="palette" onClose={onClose}>
      <Command className={styles.palette} label={t("palette")} loop>
        <Command.Input autoFocus placeholder={t("paletteHint")} value={query} onValueChange={setQuery} />
        <Command.List>
          <Command.Empty className={styles.paletteEmpty}>{t("nothingFound")}</Command.Empty>
          {chats.length > 0 && (
            <Command.Group heading={t("chats")}>
              {chats.map((chat) => (
                <Command.Item
                  key={chat.id}
                  value={`chat ${chat.id}`}
                  keywords={[chat.title, chat.found ? query : ""]}
                  onSelect={done(() => actions.openChat(chat.id))}
                >
                  <span className={styles.paletteName}>{chat.title || t("untitled")}</span>
                  {chat.found && <span className={styles.paletteNote}>{chat.found.excerpt}</span>}
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {groups.map((group) => (
            <Command.Group key={group.heading} heading={group.heading}>
              {group.items.map(({ name, note, icon: Icon, run, words }) => (
                <Command.Item key={name} value={`${group.heading} ${name}`} keywords={words} onSelect={done(run)}>
                  <Icon aria-hidden="true" />
                  <span className={styles.paletteName}>{name}</span>
                  {note && <span className={styles.paletteNote}>{note}</span>}
                </Command.Item>
              ))}
            </Command.Group>
          ))}
        </Command.List>
        <p className={styles.paletteFoot} aria-hidden="true">
          <kbd>↑</kbd>
          <kbd>↓</kbd> {t("toChoose")} <CornerDownLeft /> {t("toOpen")} <kbd>Esc</kbd> {t("toClose")}
        </p>
      </Command>
    </Dialog>
  );
}

/** Chats that match the typed text: by title at once, by their messages once the server has answered. */
function usePaletteChats(query: string): Chat[] {
  const { chats } = useAppState("chats");
  const { findChats } = useActions();
  const [answer, setAnswer] = useState<{ query: string; chats: Chat[] } | null>(null);
  const wanted = query.trim();
  useEffect(() => {
    if (wanted === "") return;
    let current = true;
    const timer = setTimeout(() => {
      // If the server does not answer, only titles are searched.
      findChats(wanted).then((chats) => current && setAnswer({ query: wanted, chats }), () => undefined);
    }, SEARCH_PAUSE_MS);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [wanted, findChats]);
  if (wanted === "") return chats.slice(0, PALETTE_CHATS_COUNT);
  const words = wanted.toLowerCase().split(/\s+/);
  const titled = chats.filter((chat) => words.every((word) => chat.title.toLowerCase().includes(word)));
  const known = new Set(titled.map((chat) => chat.id));
  const found = answer?.query === wanted ? answer.chats : [];
  const byContent = found.filter((chat) => chat.found && !known.has(chat.id));
  return [...titled, ...byContent].slice(0, PALETTE_CHATS_COUNT);
}
