import { useAction } from "../lib/useAction";
import { useStickToEnd } from "../lib/useStickToEnd";
import { useActions, useAppState } from "../state/context";
import { MessageItem } from "./MessageItem";

export function MessageList() {
  const { messages, messages_loaded: loaded, more_messages: more, live } = useAppState();
  const older = useAction(useActions().loadOlder);
  const view = useStickToEnd<HTMLDivElement>(messages, live);
  return (
    <div
      className="messages"
      ref={view.ref}
      onScroll={view.onScroll}
      role="log"
      aria-label="Messages"
      aria-busy={!loaded}
      tabIndex={0}
    >
      <div className="column">
        {more && (
          <button type="button" className="quiet older" disabled={older.busy} onClick={() => void older.run()}>
            {older.error ?? "Show earlier messages"}
          </button>
        )}
        {messages.map((message) => (
          <MessageItem key={message.id} message={message} live={live[message.id]} />
        ))}
      </div>
    </div>
  );
}
