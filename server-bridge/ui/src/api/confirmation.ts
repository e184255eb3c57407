/** The password, asked for once more before something is made that outlives the session. The dialog is `frame/PasswordPrompt`. */

/** What an answer is called that wants it. */
export const CONFIRM_KIND = "password_required";

/** What may be answered so. */
const MAY_ASK = /^\/api\/v1\/(keys|users|runners)(\/|$)/;

export function mayAsk(request: Request): boolean {
  return request.method !== "GET" && MAY_ASK.test(new URL(request.url).pathname);
}

type Ask = () => Promise<boolean>;

let ask: Ask | null = null;
let asking: Promise<boolean> | null = null;

/** Says who asks; returns how to stop that. */
export function onConfirmation(asker: Ask): () => void {
  ask = asker;
  return () => {
    if (ask === asker) ask = null;
  };
}

/** Whether the user gave their password. Several requests at once ask once. */
export function confirmed(): Promise<boolean> {
  if (ask === null) return Promise.resolve(false);
  asking ??= ask().finally(() => {
    asking = null;
  });
  return asking;
}
