/**
 * Files to be sent with the next message: uploaded to the chat's sandbox as soon as they are chosen. They are kept outside the
 * components, since the first file creates the chat, and leaving a chat unmounts its composer.
 */
import { useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { ATTACHMENT_BYTES, ATTACHMENTS_COUNT } from "../../limits";
import { useActions } from "../../state/context";
import type { Attachment } from "../../types";

export interface Attached {
  key: number;
  name: string;
  /** Null while the file is being uploaded. */
  file: Attachment | null;
}

const MEBIBYTE = 1024 * 1024;
const NONE: Attached[] = [];
const NEW = "";

const lists = new Map<string, Attached[]>();
const listeners = new Set<() => void>();
let lastKey = 0;
// Several files chosen at once create one chat.
let beginning: Promise<string> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(chat: string, list: Attached[]): void {
  if (list.length === 0) lists.delete(chat);
  else lists.set(chat, list);
  for (const listener of listeners) listener();
}

/** Changes the list that contains a file; a file chosen without a chat moves to the list of the chat created for it. */
function changeOf(key: number, changed: (list: Attached[]) => Attached[]): void {
  for (const [chat, list] of lists) if (list.some((other) => other.key === key)) change(chat, changed(list));
}

function begun(chatId: string): void {
  change(chatId, lists.get(NEW) ?? []);
  change(NEW, []);
}

export function useAttachments(chatId: string | null) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const chat = chatId ?? NEW;
  const attached = useSyncExternalStore(subscribe, () => lists.get(chat) ?? NONE);
  const [problem, setProblem] = useState<string | null>(null);

  const remove = (key: number) => changeOf(key, (list) => list.filter((other) => other.key !== key));
  const upload = async (file: File) => {
    lastKey += 1;
    const key = lastKey;
    change(chat, [...(lists.get(chat) ?? []), { key, name: file.name, file: null }]);
    try {
      beginning ??= chatId === null ? actions.beginChat(begun).finally(() => (beginning = null)) : null;
      const done = await actions.attach(chatId ?? (await beginning) ?? "", file);
      changeOf(key, (list) => list.map((other) => (other.key === key ? { ...other, file: done } : other)));
    } catch (error) {
      remove(key);
      const text = t("attach.failed", { name: file.name, error: errorText(error) });
      // The composer that started this upload may be unmounted.
      if (chatId === null) actions.warn(text);
      else setProblem(text);
    }
  };
  const add = (files: File[]) => {
    const fitting = files.filter((file) => file.size <= ATTACHMENT_BYTES);
    const tooLarge = files.find((file) => file.size > ATTACHMENT_BYTES);
    const room = ATTACHMENTS_COUNT - attached.length;
    if (tooLarge) setProblem(t("attach.tooLarge", { name: tooLarge.name, mebibytes: ATTACHMENT_BYTES / MEBIBYTE }));
    else setProblem(fitting.length > room ? t("attach.tooMany", { count: ATTACHMENTS_COUNT }) : null);
    for (const file of fitting.slice(0, room)) void upload(file);
  };
  const clear = () => {
    change(chat, []);
    setProblem(null);
  };
  return { attached, problem, add, remove, clear, isBusy: attached.some(({ file }) => file === null) };
}
