/** Sample values for tests: chats, messages, runners and states. */
import type { Chat, Exec, Message, Runner } from "../types";
import { INITIAL_STATE, type State } from "./state";

export function chat(id: string, updatedAt = 0): Chat {
  return { id, title: id, runner: null, created_at: 0, updated_at: updatedAt };
}

export function message(id: number, text = `text ${id}`, chatId = "a"): Message {
  return { id, chat_id: chatId, role: "user", author: 1, text, created_at: id, exec: null, agent: null };
}

export function exec(change: Partial<Exec> = {}): Exec {
  return {
    exec_id: "00",
    command: "make",
    status: "running",
    exit_code: null,
    signal: null,
    duration_ms: null,
    runner: "laptop",
    sandbox_denied: false,
    truncated: false,
    stdout_bytes: 0,
    stderr_bytes: 0,
    output_path: null,
    error: null,
    ...change,
  };
}

export function execMessage(id: number, text: string, change: Partial<Exec> = {}, chatId = "a"): Message {
  return { ...message(id, text, chatId), role: "exec", exec: exec(change) };
}

export function runner(name: string, online = true): Runner {
  return {
    name,
    online,
    last_seen: null,
    created_at: 0,
    token_expires_at: null,
    active: false,
    profile: null,
    os: null,
    arch: null,
    hostname: null,
    version: null,
    update: null,
    update_error: null,
    connected_at: null,
    workspace: null,
    kill_tier: null,
    layers: [],
    refused: [],
    run_as: null,
  };
}

/** The state of a signed-in page with chat "a" open and its messages loaded. */
export function openState(messages: Message[] = []): State {
  return { ...INITIAL_STATE, session: "signed_in", open_chat_id: "a", messages, messages_loaded: true };
}
