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
  | { kind: "tool"; tool: string; hint: string; status: ToolStatus; place: string | null; detail?: string; data?: ToolData; sub_agent?: SubAgent; asked_by?: string };

/** What a tool's card asks or shows beside words: an approval that holds once only, a question, a list. */
export type ToolData =
  | { kind: "once" }
  | { kind: "question"; options: string[] }
  | { kind: "todos"; items: Todo[] };

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
}

export interface MessagePage {
  messages: Message[];
  more: boolean;
}

/** The answer to a sent text; `chat` is there when the text opened a new chat (`/new`). */
export interface SendResult {
  messages: Message[];
  chat?: Chat | null;
}

/** Where a command wrote to, or what a model does. */
export type Channel = "stdout" | "stderr" | "text" | "reasoning";

export type ServerEvent =
  | { type: "hello"; seq: number; user: string }
  | { type: "message"; seq: number; message: Message }
  | { type: "output"; seq: number; chat_id: string; message_id: number; channel: Channel; text: string }
  | { type: "chat"; seq: number; chat: Chat }
  | { type: "chat_removed"; seq: number; id: string }
  | { type: "runner"; seq: number; runner: Runner }
  | { type: "runner_removed"; seq: number; name: string }
  | { type: "settings"; seq: number; active_runner: string | null }
  | { type: "notice"; seq: number; level: "info" | "warning"; text: string }
  | { type: "lagged"; seq: number };
