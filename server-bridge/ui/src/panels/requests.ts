/** The requests of the panels. A 401 needs no handling here: the events socket also ends with the session, and then the login is shown. */
import { ROOT, createApiClient, failure, taken, unreachable } from "../api";
import type { Schemas } from "../api/client";
import { authorization, socketProtocols } from "../api/session";
import { REQUEST_TIMEOUT_MS } from "../limits";

/** A recorded exec. */
export type ExecView = Schemas["ExecView"];
/** An exec's state on its machine. */
export type ExecReport = Schemas["ReportView"];

const client = createApiClient(() => undefined);

/** Sends and receives bytes, which the typed client would not pass on unchanged; throws an `ApiError` unless the request succeeds. */
export async function request(method: string, path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(ROOT + path, {
      method,
      credentials: "same-origin",
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      ...init,
      headers: { ...init.headers, ...authorization() },
    });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw unreachable();
  }
  if (!response.ok) throw await failure(response);
  return response;
}

export const execs = {
  running: () => taken(client.GET("/api/v1/execs", { params: { query: { running: true } } })),
  newest: (limit: number) => taken(client.GET("/api/v1/execs", { params: { query: { limit } } })),
  one: (id: string) => taken(client.GET("/api/v1/execs/{id}", { params: { path: { id } } })),
  report: (id: string, head: number, tail: number) =>
    taken(client.GET("/api/v1/execs/{id}/report", { params: { path: { id }, query: { head, tail } } })),
  cancel: async (id: string) => void (await client.POST("/api/v1/execs/{id}/cancel", { params: { path: { id } } })),
};

/** Opens a WebSocket of the API. */
export function apiSocket(path: string): WebSocket {
  const { protocol, host } = window.location;
  return new WebSocket(`${protocol === "https:" ? "wss:" : "ws:"}//${host}${ROOT}${path}`, socketProtocols());
}
