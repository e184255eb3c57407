/** Asks for the password again before something is created that outlives the session. The dialog is `frame/PasswordPrompt`. */

/** The `kind` of the error with which the server requires the password. */
export const CONFIRM_KIND = "password_required";

/** Paths of requests that may get this error. */
const MAY_ASK = /^\/api\/v1\/(keys|users|runners)(\/|$)/;

export function mayAsk(request: Request): boolean {
  return request.method !== "GET" && MAY_ASK.test(new URL(request.url).pathname);
}

type Ask = () => Promise<boolean>;

let ask: Ask | null = null;
let asking: Promise<boolean> | null = null;

/** Registers the function that asks for the password; returns one that unregisters it. */
export function onConfirmation(asker: Ask): () => void {
  ask = asker;
  return () => {
    if (ask === asker) ask = null;
  };
}

/** Resolves to true if the user confirmed their password. Simultaneous requests share one dialog. */
export function confirmed(): Promise<boolean> {
  if (ask === null) return Promise.resolve(false);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}
