import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import { ConfirmButton } from "../kit/ConfirmButton";

interface Props {
  /** On a narrow page the list is a drawer. */
  open: boolean;
  onDone: () => void;
}

export function ChatList({ open, onDone }: Props) {
  const { chats, open_chat_id: openChatId } = useAppState();
  const actions = useActions();
  const create = useAction(actions.newChat);
  const createAndClose = async () => {
    if (await create.run()) onDone();
  };
  return (
    <nav id="chat-list" className={open ? "chat-list open" : "chat-list"} aria-label="Chats">
      <button type="button" className="primary" disabled={create.busy} onClick={() => void createAndClose()}>
        New chat
      </button>
      {create.error !== null && (
        <p className="problem" role="alert">
          {create.error}
        </p>
      )}
      <ul>
        {chats.map((chat) => (
          <li key={chat.id} className={chat.id === openChatId ? "current" : undefined} data-testid="chat">
            <button
              type="button"
              className="title"
              aria-current={chat.id === openChatId ? "page" : undefined}
              onClick={() => {
                actions.openChat(chat.id);
                onDone();
              }}
            >
              {chat.title || "New chat"}
            </button>
            <ConfirmButton
              label="✕"
              name={`Delete ${chat.title || "New chat"}`}
              question="Delete this chat?"
              confirmLabel="Delete"
              onConfirm={() => void actions.deleteChat(chat.id).catch(actions.report)}
            />
          </li>
        ))}
      </ul>
    </nav>
  );
}
