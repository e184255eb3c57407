import { ArrowUp } from "lucide-react";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { type Completion, completed } from "../chat/composer/completion";
import { CompletionList } from "../chat/composer/CompletionList";
import { completionKey } from "../chat/composer/completionKey";
import { useDraft } from "../chat/composer/useDraft";
import { randomId } from "../lib/randomId";
import { useAction } from "../lib/useAction";
import { Problem } from "../settings/parts";
import { placeName } from "../state/where";
import { matching, mentionAt } from "./mentions";
import { useGroupRequests } from "./requests";
import { type Group, includes } from "./types";
import composer from "../chat/composer/composer.module.css";

interface Props {
  group: Group;
  onPosted: () => Promise<void>;
}

/** The field for writing to a group; `@` completes the agents that the user may ask. */
export function GroupComposer({ group, onPosted }: Props) {
  const { t } = useTranslation("groups");
  const requests = useGroupRequests();
  const field = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const [text, setText] = useDraft(`group-${group.id}`);
  const [caret, setCaret] = useState(text.length);
  const [dismissed, setDismissed] = useState<string | null>(null);
  const [chosen, setChosen] = useState({ of: "", at: 0 });
  const [notes, setNotes] = useState<string[]>([]);
  // A repeated text keeps its id, since the first attempt may have arrived.
  const sending = useRef({ text: "", id: "" });
  const handles = ["all", ...group.agents.filter((agent) => agent.may_ask).map((agent) => agent.handle)];
  const mention = mentionAt(text, caret);
  const word = mention === null ? null : `${mention.start} ${mention.prefix}`;
  const about = (handle: string) => {
    const agent = group.agents.find((candidate) => candidate.handle === handle);
    return agent === undefined ? t("everyAgent") : placeName(agent.runner);
  };
  const named = mention === null || word === dismissed ? [] : matching(handles, mention.prefix);
  const found = named.map((handle) => ({ insert: `@${handle} `, label: `@${handle}`, about: about(handle), goesOn: false }));
  const marked = chosen.of === word ? Math.min(chosen.at, found.length - 1) : 0;
  const choose = (completion: Completion) => {
    if (mention === null) return;
    const done = completed(text, caret, mention, completion);
    setText(done.text);
    setCaret(done.caret);
    // After the field has rendered the new text.
    requestAnimationFrame(() => field.current?.setSelectionRange(done.caret, done.caret));
  };
  const post = useAction(async () => {
    if (sending.current.text !== text) sending.current = { text, id: randomId() };
    setNotes([]);
    const posted = await requests.post(group.id, text, sending.current.id);
    sending.current = { text: "", id: "" };
    setText("");
    setCaret(0);
    setNotes(posted.notes);
    await onPosted();
  });
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const isWhole = mention?.prefix.toLowerCase() === named[marked]?.toLowerCase();
    const completions = { found, marked, isWhole, mark: (at: number) => setChosen({ of: word ?? "", at }), dismiss: () => setDismissed(word) };
    if (completionKey(event, completions, choose)) {
      // The key was for the list of completions.
    } else if (event.key === "Enter" && !event.shiftKey) {
      if (text.trim() !== "") void post.run();
    } else {
      return;
    }
    event.preventDefault();
  };
  if (!includes(group.access, "member")) return <p className="hint">{t("onlyReads")}</p>;
  return (
    <form
      className={composer.composer}
      onSubmit={(event) => {
        event.preventDefault();
        void post.run();
      }}
    >
      <Problem text={post.error} />
      <div role="status">
        {notes.map((note) => (
          <p key={note} className="caution">
            {note}
          </p>
        ))}
      </div>
      <CompletionList id={list} label={t("agents")} found={found} marked={marked} onChoose={choose} />
      <div className={composer.box}>
        <textarea
          ref={field}
          data-composer
          aria-label={t("message")}
          placeholder={t("placeholder")}
          rows={1}
          autoCapitalize="none"
          spellCheck={false}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls={found.length > 0 ? list : undefined}
          aria-activedescendant={found.length > 0 ? `${list}-${marked}` : undefined}
          value={text}
          onChange={(event) => {
            setText(event.target.value);
            setCaret(event.target.selectionStart);
          }}
          onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
          onKeyDown={onKeyDown}
        />
        <div className={composer.bar}>
          <button type="submit" className="primary icon" aria-label={t("send")} title={t("send")} disabled={post.busy || text.trim() === ""}>
            <ArrowUp aria-hidden="true" />
          </button>
        </div>
      </div>
    </form>
  );
}
