/**
 * The page's half of its session. The other half is a cookie, which every port of this host is sent and no script can read;
 * this one is kept for this very origin. Either alone opens nothing.
 */
const KEY = "sandbridge.session";

/** Where there is no storage, a session lasts as long as the page. */
let unkept: string | null = null;

export function sessionToken(): string | null {
  try {
    return window.localStorage.getItem(KEY);
  } catch {
    return unkept;
  }
}

/** Keeps the token of a session just begun; null forgets it. */
export function keepSession(token: string | null): void {
  unkept = token;
  try {
    if (token === null) window.localStorage.removeItem(KEY);
    else window.localStorage.setItem(KEY, token);
  } catch {
    // As above.
  }
}

/** What a request brings to show whose it is. */
export function authorization(): Record<string, string> {
  const token = sessionToken();
  return token === null ? {} : { authorization: `Bearer ${token}` };
}

/** The same for a WebSocket, which can bring nothing but names of protocols; the server answers with the first. */
export function socketProtocols(): string[] {
  const token = sessionToken();
  return token === null ? ["sandbridge"] : ["sandbridge", `bearer.${token}`];
}
