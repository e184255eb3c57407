/** The requests of the panels. A 401 needs nothing here: the events socket ends with the session too, and shows the login. */
import { ApiError, ROOT, failure } from "../api";
import { REQUEST_TIMEOUT_MS } from "../limits";
import type { ExecStatus } from "../types";

/** An exec on record. */
export interface ExecView {
  exec_id: string;
  command: string;
  runner: string | null;
  status: ExecStatus;
  /** Whether it goes on without a client. */
  detached: boolean;
  /** Whether it has a terminal. */
  terminal?: boolean;
  chat_id: string | null;
  code: number | null;
  signal: number | null;
  sandbox_denied: boolean;
  error: string | null;
  started_at: number;
  finished_at: number | null;
}

/** How an exec stands on its machine. */
export interface ExecReport {
  running: boolean;
  output_bytes: number;
  head: string;
  tail: string;
}

/** Asks the API; anything but success is an {@link ApiError}. */
export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, {
      method,
      credentials: "same-origin",
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...init,
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export function unreachable(): ApiError {
  return new ApiError(0, "unreachable", "The server does not answer. Check your connection and try again.");
}

async function asked<T>(method: string, path: string): Promise<T> {
  return (await (await request(method, path)).json()) as T;
}

export const execs = {
  running: (): Promise<ExecView[]> => asked("GET", "/execs?running=true"),
  newest: (limit: number): Promise<ExecView[]> => asked("GET", `/execs?limit=${limit}`),
  one: (id: string): Promise<ExecView> => asked("GET", `/execs/${id}`),
  report: (id: string, head: number, tail: number): Promise<ExecReport> =>
    asked("GET", `/execs/${id}/report?head=${head}&tail=${tail}`),
  cancel: async (id: string): Promise<void> => {
    await request("POST", `/execs/${id}/cancel`);
  },
};

/** A WebSocket of the API. */
export function apiSocket(path: string): WebSocket {
  const { protocol, host } = window.location;
  return new WebSocket(`${protocol === "https:" ? "wss:" : "ws:"}//${host}${ROOT}${path}`);
}
