import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useActions } from "../state/context";
import type { Chat } from "../types";
import styles from "./chats.module.css";

/** A chat's title while it is edited: Enter and leaving the field save it, Escape does not. */
export function TitleField({ chat, onDone }: { chat: Chat; onDone: (byKey: boolean) => void }) {
  const { t } = useTranslation("chats");
  const actions = useActions();
  const [title, setTitle] = useState(chat.title);
  const field = useRef<HTMLInputElement>(null);
  const ready = useRef(false);
  const over = useRef(false);
  useEffect(() => {
    // A menu that closes returns the focus to its button first; losing the focus that way must not save the title.
    const frame = requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.select();
      ready.current = true;
    });
    return () => cancelAnimationFrame(frame);
  }, []);
  const finish = (keep: boolean, byKey: boolean) => {
    if (over.current) return;
    over.current = true;
    const wanted = title.trim();
    if (keep && wanted !== "" && wanted !== chat.title) actions.renameChat(chat.id, wanted).catch(actions.report);
    onDone(byKey);
  };
  return (
    <input
      ref={field}
      className={styles.titleField}
      aria-label={t("titleOf")}
      value={title}
      maxLength={200}
      onChange={(event) => setTitle(event.target.value)}
      onBlur={() => ready.current && finish(true, false)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.nativeEvent.isComposing) return;
        if (event.key === "Enter") finish(true, true);
        if (event.key === "Escape") finish(false, true);
      }}
    />
  );
}
