/** The password, asked for again before something is created that outlives the session. The dialog is `frame/PasswordPrompt`. */

/** The `kind` of an answer that requires the password. */
export const CONFIRM_KIND = "password_required";

/** Requests that may get such an answer. */
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

/** True if the user gave their password. Several requests at once ask once. */
export function confirmed(): Promise<boolean> {
  if (ask === null) return Promise.resolve(false);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}
