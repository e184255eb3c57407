/**
 * The client of `/api/v1`, typed by the server's OpenAPI description (`schema.d.ts`, made by `npm run contract`).
 *
 *   const client = createApiClient(onUnauthorized);
 *   const chats = await taken(client.GET("/api/v1/chats", { params: { query: { query: "deploy" } } }));
 *
 * A refused request, or one without a response, throws an `ApiError`. A request brings the session's token; the browser adds the cookie that
 * belongs to it, and the Origin that the server asks for. Where the server wants the password again, the user is asked for it, and
 * the request is repeated.
 */
import createClient from "openapi-fetch";
import { REQUEST_TIMEOUT_MS, UPDATE_TIMEOUT_MS } from "../limits";
import { CONFIRM_KIND, confirmed, mayAsk } from "./confirmation";
import { failure, unreachable } from "./error";
import type { components, paths } from "./schema";
import { authorization } from "./session";

/** The types of requests and responses, by their names in the OpenAPI description. */
export type Schemas = components["schemas"];

export type ApiClient = ReturnType<typeof createApiClient>;

/** A 401 from these paths does not mean that the session has ended. */
const WITHOUT_SESSION = ["/api/v1/login", "/api/v1/setup", "/api/v1/sign-ins/redeem"];

/** Node's Request needs an absolute URL; addresses of the page need no origin. */
function origin(): string {
  return typeof location === "undefined" ? "http://localhost" : location.origin;
}

/**
 * Makes the client; `onUnauthorized` is called on every 401 except that of a login. A request with its own `signal` (an upload, a
 * download) has no other time limit.
 */
export function createApiClient(onUnauthorized: () => void) {
  const send = async (request: Request): Promise<Response> => {
    const again = mayAsk(request) ? request.clone() : null;
    const response = await reached(request);
    if (again === null || response.status !== 403) return response;
    if ((await failure(response.clone())).kind !== CONFIRM_KIND || !(await confirmed())) return response;
    // The time spent typing the password does not count towards the request's time limit.
    return reached(new Request(again, { signal: AbortSignal.timeout(patienceMs(request)) }));
  };
  const client = createClient<paths>({ baseUrl: origin(), credentials: "same-origin", fetch: send });
  client.use({
    onRequest({ request, options }) {
      const asked = (options as { signal?: AbortSignal | null }).signal;
      return asked ? undefined : new Request(request, { signal: AbortSignal.timeout(patienceMs(request)) });
    },
    async onResponse({ request, response }) {
      if (response.ok) return undefined;
      const isSession = !WITHOUT_SESSION.includes(new URL(request.url).pathname);
      if (response.status === 401 && isSession) onUnauthorized();
      throw await failure(response);
    },
  });
  return client;
}

/** The time limit for a request; longer for an update, whose response waits for the machine's download. */
function patienceMs(request: Request): number {
  return /^\/api\/v1\/runners\/[^/]+\/update$/.test(new URL(request.url).pathname) ? UPDATE_TIMEOUT_MS : REQUEST_TIMEOUT_MS;
}

/** Sends a request with the session's token. */
async function reached(request: Request): Promise<Response> {
  for (const [name, value] of Object.entries(authorization())) request.headers.set(name, value);
  // The page's language, which may differ from the browser's.
  if (typeof document !== "undefined" && document.documentElement.lang !== "") {
    request.headers.set("Accept-Language", document.documentElement.lang);
  }
  try {
    return await fetch(request);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw unreachable();
  }
}

/** The data of a response; the client has already thrown an error if the request failed. */
export async function taken<T>(answer: Promise<{ data?: T }>): Promise<T> {
  return (await answer).data as T;
}

/** A body that is sent unchanged: the OpenAPI description has no type for a file. */
export function asItIs(content: Blob, type: string) {
  const bodySerializer = (body: unknown) => body as BodyInit;
  return { body: content as unknown as number[], bodySerializer, headers: { "content-type": type } };
}
