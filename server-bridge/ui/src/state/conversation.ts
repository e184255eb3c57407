/** The user's actions on an open conversation, other than sending messages. */
import type { Dispatch } from "react";
import type { Api } from "../api";
import type { AgentOfChat, ApprovalMode, Attachment, ChatDetails, CommandLine, Message, ModelList, PathEntry, TakeBack } from "../types";
import { moveDraft } from "./drafts";
import { type Action, openChatOf, type State } from "./state";

export interface ConversationActions {
  chatDetails(chatId: string): Promise<ChatDetails>;
  agents(chatId: string): Promise<AgentOfChat[]>;
  setApproval(chatId: string, mode: ApprovalMode): Promise<void>;
  models(chatId: string | null): Promise<ModelList>;
  setModel(chatId: string, model: string | null): Promise<void>;
  /** Creates a chat; `before` gets its id before it opens. */
  beginChat(before: (id: string) => void): Promise<string>;
  attach(chatId: string, file: File): Promise<Attachment>;
  commands(): Promise<CommandLine[]>;
  completePath(prefix: string): Promise<PathEntry[]>;
  /** Suggested values for the last argument of an extension's command that is being written. */
  completeArgument(text: string): Promise<string[]>;
  /** Takes a message back with everything after it, and puts its text into the composer. */
  takeBack(message: Message, how: TakeBack): Promise<void>;
  /** Takes a message back, and sends it again. */
  sayAgain(message: Message): Promise<void>;
  /** Puts a message into the composer; the text sent then replaces it. */
  edit(message: Message): void;
  /** Takes a message back, and sends an edited text in its place. */
  sendInPlace(chatId: string, messageId: number, text: string, attachments: string[]): Promise<void>;
  inputTaken(): void;
  fork(chatId: string, messageId: number): Promise<void>;
  /** Opens a sub-agent's chat, whose header links back to `from`. */
  enterChat(id: string, from: string): void;
  /** Puts the beginning of a message to a sub-agent into the composer of a chat. */
  writeToAgent(chatId: string, name: string): void;
}

/** True if a message began an agent's turn, which can be taken back; `!` commands and the server's slash commands do not. */
export function beganTurn(message: Message): boolean {
  return message.role === "user" && !/^\s*(!|\/(?!\/))/.test(message.text) && message.undone !== true;
}

interface Others {
  openChat: (id: string) => void;
  begin: (made: (id: string, from: string) => void) => Promise<string>;
  openBegun: (id: string, from: string) => void;
  /** Sends a text to this chat, whichever chat is open. */
  sendTo: (chatId: string, text: string, attachments: string[]) => void;
}

export function conversationActions(api: Api, dispatch: Dispatch<Action>, state: () => State, others: Others): ConversationActions {
  const { openChat, begin, openBegun, sendTo } = others;
  const sendInPlace = async (chatId: string, messageId: number, text: string, attachments: string[]) => {
    await api.rewind(chatId, messageId, { files: false, force: false });
    sendTo(chatId, text, attachments);
  };
  return {
    chatDetails: async (chatId) => {
      const details = await api.chatDetails(chatId);
      dispatch({ type: "chat_asked", chat: details });
      return details;
    },
    agents: api.agents,
    setApproval: api.setApproval,
    models: api.models,
    setModel: api.setModel,
    beginChat: (before) =>
      begin((id, from) => {
        before(id);
        // The composer moves its text to the new chat by itself, unless the user has opened another chat meanwhile.
        if (state().open_chat_id !== null) moveDraft(id);
        openBegun(id, from);
      }),
    attach: api.attach,
    commands: () => api.commands(openChatOf(state())?.id ?? null),
    completeArgument: async (text) => {
      const chat = openChatOf(state());
      return chat ? api.completeArgument(chat.id, text) : [];
    },
    completePath: (prefix) => api.completePath(prefix, openChatOf(state())?.runner ?? null),
    takeBack: async (message, how) => {
      const { text } = await api.rewind(message.chat_id, message.id, how);
      dispatch({ type: "input_offered", chat_id: message.chat_id, text });
    },
    sayAgain: async (message) => {
      if (beganTurn(message)) return sendInPlace(message.chat_id, message.id, message.text, []);
      sendTo(message.chat_id, message.text, []);
    },
    edit: (message) => {
      const editing = beganTurn(message) ? message.id : undefined;
      dispatch({ type: "input_offered", chat_id: message.chat_id, text: message.text, ...(editing !== undefined && { editing }) });
    },
    writeToAgent: (chatId, name) => dispatch({ type: "input_offered", chat_id: chatId, text: `/agent ${name} ` }),
    sendInPlace,
    inputTaken: () => dispatch({ type: "input_taken" }),
    fork: async (chatId, messageId) => {
      const chat = await api.fork(chatId, messageId);
      dispatch({ type: "chat_received", chat });
      openChat(chat.id);
    },
    enterChat: (id, from) => {
      dispatch({ type: "chat_entered", id, from });
      openChat(id);
    },
  };
}
