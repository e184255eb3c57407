/**
 * The types of the HTTP API (`/api/v1`) under the names that the page uses; the server describes their contents
 * (`api/schema.d.ts`). Times are Unix milliseconds.
 */
import type { Schemas } from "./api/client";

export type Me = Schemas["Me"];
export type Layer = Schemas["LayerView"];
/** A registered machine; the facts are those of its last registration, null before the first. */
export type Runner = Schemas["RunnerView"];
/** A new token, shown once, and the exact line to paste on the machine. */
export type RunnerToken = Schemas["TokenView"];
/** An update that a machine has downloaded. */
export type RunnerUpdate = Schemas["UpdateStarted"];
export type Choice = Schemas["ChoiceView"];
export type Settings = Schemas["SettingsView"];
/** The settings of the whole server, for administrators. */
export type ServerSettings = Schemas["ServerSettings"];
export type SettingsChange = Schemas["SettingsChanged"];
export type Chat = Schemas["ChatView"];
export type Exec = Schemas["ExecDocument"];
export type ExecStatus = Exec["status"];

/** An agent's part of a message: an answer (the first message stands for all of it), or a tool call. */
export type Agent = Schemas["AgentDocument"];
/** The additional content of a tool's card: a one-time approval, a question, a list, a change. */
export type ToolData = Schemas["ToolData"];
/** The complete action for which a tool asks approval. */
export type ApprovalDocument = Schemas["ApprovalDocument"];
/** A change of a file: the old text (none for a new file), and the new one. */
export type Edit = Extract<ToolData, { kind: "edit" }>;
/** A card that an agent builds or sent, a part of it, and an answer to it. */
export type CardDocument = Schemas["CardDocument"];
export type CardPart = Schemas["CardPart"];
export type CardReply = Schemas["CardReply"];
export type Todo = Schemas["TodoDocument"];
/** A sub-agent that a tool called: its own chat, and its current activity there. */
export type SubAgent = Schemas["SubAgentDocument"];
export type TurnStatus = Extract<Agent, { kind: "reply" }>["status"];
export type ToolStatus = Extract<Agent, { kind: "tool" }>["status"];
export type Usage = Schemas["UsageDocument"];

export type BoundChat = Schemas["BoundView"];

export type Message = Schemas["MessageView"];
export type MessagePage = Schemas["MessagePage"];

/** The response to a sent text; `chat` is set if the text opened a new chat (`/new`). */
export type SendResult = Schemas["PostedView"];

/** A piece of a running message; `at` is the number of characters before it. */
export type Piece = Schemas["LiveView"];

/** The stream of a command's output or of a model's words. */
export type Channel = Piece["channel"];

/** The exec socket: the client's first frame, its later frames, and the server's frames. */
export type ExecAsk = Schemas["ExecAsk"];
export type PtyAsk = Schemas["PtyAsk"];
export type ExecClientFrame = Schemas["ExecClientFrame"];
export type ExecServerFrame = Schemas["ExecServerFrame"];

export type ServerEvent = Schemas["ServerEvent"];

export const APPROVAL_MODES = ["plan", "ask", "auto-edit", "full"] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** A chat with the state of its agent. */
export type ChatDetails = Schemas["ChatDetail"];
/** A sub-agent that a chat's agent called. */
export type AgentOfChat = Schemas["SubAgentView"];
/** The models that a chat can choose from: names of subscriptions, and the models of each by tier. */
export type ModelList = Schemas["ModelList"];
/** A line of `/help`. */
export type CommandLine = Schemas["CommandView"];
export type PathEntry = Schemas["CompletionView"];
/** A file that was uploaded to a chat's sandbox to be sent with a message. */
export type Attachment = Schemas["AttachmentView"];

/** How to take back a message and everything after it. */
export interface TakeBack {
  /** True if the files it changed are restored. */
  files: boolean;
  /** True if files that something else has changed since are restored too. */
  force: boolean;
}
