/**
 * The page's half of its session. The other half is a cookie, which is sent to every port of this host and which no script can
 * read; this half is stored for this origin only. Neither alone is enough.
 */
const KEY = "sandbridge.session";

/** The token if the browser stores nothing: the session then ends with the page. */
let unkept: string | null = null;

export function sessionToken(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return unkept;
  }
}

/** Keeps the token of a new session; null deletes it. */
export function keepSession(token: string | null): void {
  unkept = token;
  try {
    if (token === null) window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, token);
  } catch {
    // Without storage, the token is in `unkept`.
  }
}

/** The header that authorizes a request. */
export function authorization(): Record<string, string> {
  const token = sessionToken();
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** The session's token for a WebSocket, which can send only protocol names; the server answers with the first name. */
export function socketProtocols(): string[] {
  const token = sessionToken();
  return token === null ? ["sandbridge"] : ["sandbridge", `bearer.${token}`];
}
