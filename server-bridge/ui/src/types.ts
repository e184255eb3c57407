/** The shapes of the HTTP contract (`/api/v1`). Times are Unix milliseconds. */

export interface Me {
  name: string;
  admin: boolean;
  active_runner: string | null;
  version: string;
}

export interface Layer {
  name: string;
  holds: boolean;
  detail: string;
}

/** A registered machine; the facts are those of its last registration, null before the first. */
export interface Runner {
  name: string;
  online: boolean;
  last_seen: number | null;
  created_at: number;
  token_expires_at: number | null;
  active: boolean;
  profile: string | null;
  os: string | null;
  arch: string | null;
  hostname: string | null;
  version: string | null;
  workspace: string | null;
  kill_tier: string | null;
  layers: Layer[];
  /** Layers that this server requires and the runner lacks; while there is one, nothing runs there. */
  refused: string[];
  /** As whom commands run there, where that is not the runner's own user alone. */
  run_as: { default: string; privileged: string | null } | null;
}

/** A new token, shown once, and the exact line to paste on the machine. */
export interface RunnerToken {
  name: string;
  token: string;
  command: string;
  /** Only for a token for one use: until when it works. */
  expires_at?: number | null;
  /** Only after a rotation: until then the previous token works too. */
  old_token_expires_at?: number | null;
}

export interface Choice {
  name: string;
  kind: "runner" | "docker" | "none";
  online: boolean;
  available: boolean;
  note: string | null;
}

export interface Settings {
  active_runner: string | null;
  choices: Choice[];
}

export interface SettingsChange {
  active_runner: string | null;
  warning: string | null;
}

export interface Chat {
  id: string;
  title: string;
  /** The runner this chat is bound to, whatever the active one is. */
  runner: string | null;
  created_at: number;
  updated_at: number;
  /** Of a chat that was found by what was said in it. */
  found?: { message_id: number; excerpt: string } | null;
  /** Of a sub-agent's chat, which no list has: the chat it works for. */
  parent_id?: string | null;
}

export type ExecStatus = "running" | "exited" | "signaled" | "timed_out" | "cancelled" | "failed" | "lost";

export interface Exec {
  exec_id: string;
  command: string;
  status: ExecStatus;
  exit_code: number | null;
  signal: number | null;
  duration_ms: number | null;
  runner: string | null;
  sandbox_denied: boolean;
  truncated: boolean;
  stdout_bytes: number;
  stderr_bytes: number;
  output_path: string | null;
  error: string | null;
}

/** What a model did about a message: an answer (the first one stands for all of it), or a tool that it called. */
export type Agent =
  | { kind: "reply"; status: TurnStatus; reasoning?: string; error?: string; usage?: Usage }
  | { kind: "tool"; tool: string; hint: string; status: ToolStatus; place: string | null; detail?: string; data?: ToolData; sub_agent?: SubAgent; asked_by?: string; duration_ms?: number };

/** What a tool's card asks or shows beside words: an approval that holds once only, a question, a list, a change. */
export type ToolData =
  | { kind: "once" }
  | { kind: "question"; options: string[] }
  | { kind: "todos"; items: Todo[] }
  | Edit;

/** A change of a file: what was there (none of a new file), and what is there in its place. */
export interface Edit {
  kind: "edit";
  old?: string;
  new: string;
  /** The line of the file that both begin with, from 1. */
  first_line: number;
  /** Whether there is more of it. */
  is_cut: boolean;
}

export interface Todo {
  content: string;
  status: "pending" | "in_progress" | "completed";
}

/** A sub-agent that a tool called: its own chat, and what it does there at the moment. */
export interface SubAgent {
  chat_id: string;
  role?: string;
  instance?: string;
  /** Tools that it called in this call, and the last one of them. */
  steps: number;
  doing?: string;
  usage?: Usage;
}

export type TurnStatus = "queued" | "running" | "done" | "failed" | "cancelled" | "interrupted";

export type ToolStatus = "asking" | "running" | "done" | "failed" | "denied" | "cancelled";

export interface Usage {
  input_tokens: number;
  cache_read_tokens: number;
  output_tokens: number;
  cost_micros: number;
}

export interface Message {
  id: number;
  chat_id: string;
  role: "user" | "exec" | "notice" | "assistant";
  text: string;
  created_at: number;
  exec: Exec | null;
  agent?: Agent | null;
  /** Taken back: shown, and no part of the conversation any more. */
  undone?: boolean;
  /** Only where messages are asked for: what was told of it while it is under way. */
  live?: Piece[];
}

export interface MessagePage {
  messages: Message[];
  more: boolean;
}

/** The answer to a sent text; `chat` is there when the text opened a new chat (`/new`). */
export interface SendResult {
  messages: Message[];
  chat?: Chat | null;
  /** What may be put back into the composer. */
  input?: string | null;
}

/** Something that was told of a message under way; `at` is how many characters were told of it before. */
export interface Piece {
  channel: Channel;
  at: number;
  text: string;
}

/** Where a command wrote to, or what a model does. */
export type Channel = "stdout" | "stderr" | "text" | "reasoning";

export type ServerEvent =
  | { type: "hello"; seq: number; user: string; epoch?: string; resumed?: boolean }
  | { type: "reset"; seq: number }
  | { type: "message"; seq: number; message: Message }
  | ({ type: "output"; seq: number; chat_id: string; message_id: number } & Piece)
  | { type: "chat"; seq: number; chat: Chat }
  | { type: "chat_removed"; seq: number; id: string }
  | { type: "runner"; seq: number; runner: Runner }
  | { type: "runner_removed"; seq: number; name: string }
  | { type: "settings"; seq: number; active_runner: string | null }
  | { type: "notice"; seq: number; level: "info" | "warning"; text: string }
  | { type: "lagged"; seq: number };

export const APPROVAL_MODES = ["plan", "ask", "auto-edit", "full"] as const;
export type ApprovalMode = (typeof APPROVAL_MODES)[number];

/** A chat with how its agent stands. */
export interface ChatDetails extends Chat {
  approval: ApprovalMode;
  /** `NAME/TIER`, as it was chosen for this chat or by default. */
  model: string | null;
  cwd: string;
  busy: boolean;
  context: { used_tokens: number; window_tokens: number; model: string } | null;
  usage: Usage & { calls: number; cache_write_tokens: number };
  /** Whose sub-agent this chat is. */
  parent_id: string | null;
}

/** A sub-agent that a chat's agent called. */
export interface AgentOfChat {
  chat_id: string;
  message_id: number | null;
  role: string | null;
  instance: string | null;
  title: string;
  status: TurnStatus | null;
  created_at: number;
  used_at: number;
}

/** What a chat's model can be chosen from: names of subscriptions, and the models of each by tier. */
export interface ModelList {
  chosen: string | null;
  models: { name: string; shared: boolean; models: Record<string, { name: string }>; default_tier: string }[];
}

/** A line of `/help`. */
export interface CommandLine {
  word: string;
  usage: string;
  about: string;
}

export interface PathEntry {
  path: string;
  kind: "file" | "directory";
}

/** A file that was put into a chat's sandbox to be sent with a message. */
export interface Attachment {
  path: string;
  name: string;
  place: string;
  size_bytes: number;
  is_image: boolean;
}

/** How a message and all behind it is taken back. */
export interface TakeBack {
  /** Whether the files it changed are restored. */
  files: boolean;
  /** Whether those are restored, too, that somebody else has changed since. */
  force: boolean;
}
