import { ArrowUp, Paperclip } from "lucide-react";
import {
  type ClipboardEvent,
  type DragEvent,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useEffect,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "../../api";
import { useActions, useAppState } from "../../state/context";
import type { Input } from "../../state/state";
import { AttachmentList } from "./AttachmentList";
import { CompletionList } from "./CompletionList";
import { type Completion, completed } from "./completion";
import { completionKey } from "./completionKey";
import { useAttachments } from "./useAttachments";
import { useCompletion } from "./useCompletion";
import { useDraft, useEdit } from "./useDraft";
import styles from "./composer.module.css";

const LABELS = { command: "complete.commands", argument: "complete.arguments", path: "complete.files" } as const;

interface Props {
  chatId: string | null;
  /** The texts sent earlier in the chat, which arrow-up recalls. */
  sent: string[];
  onSent: () => void;
  /** The contents of the row below the text. */
  children: ReactNode;
}

/** The field for writing a message, with its draft, files and completions, and the message that it replaces. */
export function Composer(props: Props) {
  const { input } = useAppState("input");
  const offered = input?.chat_id === props.chatId ? input : null;
  return <Field {...props} offered={offered} />;
}

const Field = memo(function Field({ chatId, sent, onSent, children, offered }: Props & { offered: Input | null }) {
  const { t } = useTranslation("chat");
  const actions = useActions();
  const list = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [draft, setDraft] = useDraft(chatId);
  const [edit, setEdit] = useEdit(chatId);
  const text = edit?.text ?? draft;
  const setText = (next: string) => (edit === null ? setDraft(next) : setEdit({ ...edit, text: next }));
  const current = useRef(text);
  const [caret, setCaret] = useState(text.length);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const files = useAttachments(chatId);
  const completions = useCompletion(text, caret);
  const history = useHistory(sent, text, setText);
  const isSendable = (text.trim() !== "" || files.attached.length > 0) && !files.isBusy && !busy;

  useLayoutEffect(() => {
    current.current = text;
  }, [text]);
  useEffect(() => {
    if (offered === null) return;
    actions.inputTaken();
    if (offered.editing !== null) setEdit({ id: offered.editing, text: offered.text });
    // A message that is offered without a request from the user does not overwrite a draft.
    else if (edit === null && draft === "") setDraft(offered.text);
    else return;
    field.current?.focus();
  }, [offered, actions, edit, setEdit, draft, setDraft]);

  const send = async () => {
    if (!isSendable) return;
    const attachments = files.attached.flatMap(({ file }) => (file === null ? [] : [`${file.path} on ${file.place}`]));
    setProblem(null);
    setBusy(true);
    try {
      if (edit === null || chatId === null) actions.send(text, attachments);
      else await actions.sendInPlace(chatId, edit.id, text, attachments);
    } catch (error) {
      setProblem(errorText(error));
      return;
    } finally {
      setBusy(false);
    }
    // Text typed meanwhile is not sent; it is put below the draft from before the edit.
    const left = [edit === null ? "" : draft, current.current === text ? "" : current.current];
    setEdit(null);
    setDraft(left.filter((part) => part !== "").join("\n\n"));
    files.clear();
    onSent();
  };
  const choose = (completion: Completion) => {
    if (completions.wanted === null) return;
    const done = completed(text, caret, completions.wanted, completion);
    setText(done.text);
    setCaret(done.caret);
    // After the field has rendered the new text.
    requestAnimationFrame(() => field.current?.setSelectionRange(done.caret, done.caret));
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const { found, marked, wanted } = completions;
    // Enter sends a command that is typed in full.
    const isWhole = wanted?.kind === "command" && found[marked]?.insert === `/${wanted.prefix} `;
    if (completionKey(event, { ...completions, isWhole }, choose)) return event.preventDefault();
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      void send();
    } else if (event.key === "Escape" && edit !== null) {
      if (!busy) setEdit(null);
    } else if (history(event.key)) {
      event.preventDefault();
    }
  };
  const take = (event: ClipboardEvent | DragEvent, data: DataTransfer | null) => {
    const given = Array.from(data?.files ?? []);
    if (given.length === 0) return;
    event.preventDefault();
    files.add(given);
  };

  return (
    <form
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => take(event, event.dataTransfer)}
    >
      {edit !== null && (
        <p className={`${styles.editing} hint`}>
          <span>{t("editing")}</span>
          <button type="button" className="quiet" disabled={busy} onClick={() => setEdit(null)}>
            {t("stopEditing")}
          </button>
        </p>
      )}
      {(problem ?? files.problem) !== null && (
        <p className="problem" role="alert">
          {problem ?? files.problem}
        </p>
      )}
      <CompletionList id={list} label={t(LABELS[completions.wanted?.kind ?? "command"])} found={completions.found} marked={completions.marked} onChoose={choose} />
      <div className={styles.box}>
        <AttachmentList attached={files.attached} onRemove={files.remove} />
        <textarea
          ref={field}
          data-composer
          aria-label={t("message")}
          placeholder={t("placeholder")}
          rows={1}
          autoFocus
          autoCapitalize="none"
          spellCheck={false}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={completions.found.length > 0 ? list : undefined}
          aria-activedescendant={completions.found.length > 0 ? `${list}-${completions.marked}` : undefined}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setCaret(event.target.selectionStart);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onPaste={(event) => take(event, event.clipboardData)}
          onKeyDown={onKeyDown}
        />
        <div className={styles.bar}>
          <AttachButton onFiles={files.add} />
          {children}
          <button type="submit" className="primary icon" aria-label={t("send")} title={t("sendKeys")} disabled={!isSendable}>
            <ArrowUp aria-hidden="true" />
          </button>
        </div>
      </div>
    </form>
  );
});

function AttachButton({ onFiles }: { onFiles: (files: File[]) => void }) {
  const { t } = useTranslation("chat");
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className="quiet icon" aria-label={t("attach.add")} title={t("attach.add")} onClick={() => input.current?.click()}>
        <Paperclip aria-hidden="true" />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        data-testid="attach"
        onChange={(event) => {
          onFiles(Array.from(event.target.files ?? []));
          // Choosing the same file again must fire another change event.
          event.target.value = "";
        }}
      />
    </>
  );
}

/** Arrow-up and -down step through earlier messages, from an empty field. */
function useHistory(sent: string[], text: string, setText: (text: string) => void): (key: string) => boolean {
  const [recalled, setRecalled] = useState<number | null>(null);
  const recall = (at: number) => {
    setRecalled(at < sent.length ? at : null);
    setText(sent[at] ?? "");
    return true;
  };
  return (key) => {
    const walking = recalled !== null && text === sent[recalled];
    if (key === "ArrowUp" && (text === "" || walking)) {
      const at = (walking ? recalled : sent.length) - 1;
      return at >= 0 && recall(at);
    }
    return key === "ArrowDown" && walking && recall(recalled + 1);
  };
}
