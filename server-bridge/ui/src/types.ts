/**
 * The shapes of the HTTP contract (`/api/v1`) under the names that the page uses; what they hold is described by the server
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

/** What a model did about a message: an answer (the first one stands for all of it), or a tool that it called. */
export type Agent = Schemas["AgentDocument"];
/** What a tool's card asks or shows beside words: an approval that holds once only, a question, a list, a change. */
export type ToolData = Schemas["ToolData"];
/** What a tool that asks wants to do, the whole of it. */
export type ApprovalDocument = Schemas["ApprovalDocument"];
/** A change of a file: what was there (none of a new file), and what is there in its place. */
export type Edit = Extract<ToolData, { kind: "edit" }>;
export type Todo = Schemas["TodoDocument"];
/** A sub-agent that a tool called: its own chat, and what it does there at the moment. */
export type SubAgent = Schemas["SubAgentDocument"];
export type TurnStatus = Extract<Agent, { kind: "reply" }>["status"];
export type ToolStatus = Extract<Agent, { kind: "tool" }>["status"];
export type Usage = Schemas["UsageDocument"];

export type BoundChat = Schemas["BoundView"];

export type Message = Schemas["MessageView"];
export type MessagePage = Schemas["MessagePage"];

/** The answer to a sent text; `chat` is there when the text opened a new chat (`/new`). */
export type SendResult = Schemas["PostedView"];

/** Something that was told of a message under way; `at` is how many characters were told of it before. */
export type Piece = Schemas["LiveView"];

/** Where a command wrote to, or what a model does. */
export type Channel = Piece["channel"];

/** The exec socket: the first frame of a client, the frames after it, and those of the server. */
export type ExecAsk = Schemas["ExecAsk"];
export type PtyAsk = Schemas["PtyAsk"];
export type ExecClientFrame = Schemas["ExecClientFrame"];
export type ExecServerFrame = Schemas["ExecServerFrame"];

export type ServerEvent = Schemas["ServerEvent"];

export const APPROVAL_MODES = ["plan", "ask", "auto-edit", "full"] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** A chat with how its agent stands. */
export type ChatDetails = Schemas["ChatDetail"];
/** A sub-agent that a chat's agent called. */
export type AgentOfChat = Schemas["SubAgentView"];
/** What a chat's model can be chosen from: names of subscriptions, and the models of each by tier. */
export type ModelList = Schemas["ModelList"];
/** A line of `/help`. */
export type CommandLine = Schemas["CommandView"];
export type PathEntry = Schemas["CompletionView"];
/** A file that was put into a chat's sandbox to be sent with a message. */
export type Attachment = Schemas["AttachmentView"];

/** How a message and all behind it is taken back. */
export interface TakeBack {
  /** Whether the files it changed are restored. */
  files: boolean;
  /** Whether those are restored, too, that somebody else has changed since. */
  force: boolean;
}
