/**
 * What is open, in the address, so that reload, back and bookmarks work: `#/chats/ID`, `#/settings/SECTION` over the chat
 * that was open before (kept beside the address, in the history's state), `#/setup`, `#setup=SECRET` and `#sign-in=CODE`.
 */
const CHATS = "#/chats/";
const SETTINGS = "#/settings";
const SETUP = "#/setup";
const SECRET = "#setup=";
const SIGN_IN = "#sign-in=";

/** Told when this page itself writes the address; the browser tells of back and forward. */
const CHANGED = "sandbridge:address";

/** The open chat, also while the settings cover it. */
export function chatIdInAddress(): string | null {
  const { hash } = window.location;
  if (hash.startsWith(CHATS)) return decoded(hash.slice(CHATS.length));
  const kept: unknown = (window.history.state as { chat?: unknown } | null)?.chat;
  return typeof kept === "string" ? kept : null;
}

/** Writes the address; `replace` where the change was not the user's own step. */
export function showChatId(id: string | null, replace: boolean): void {
  if (replace && isCovered(window.location.hash)) window.history.replaceState({ chat: id }, "", window.location.hash);
  else write(chatAddress(id), replace);
}

/** The section of the settings that is open: empty for their list, null while they are closed. */
export function settingsSection(hash: string): string | null {
  return isSettings(hash) ? hash.slice(SETTINGS.length + 1) : null;
}

/** Opens the settings, or another section of them. */
export function showSettings(section: string): void {
  const address = section === "" ? SETTINGS : `${SETTINGS}/${section}`;
  write(address, isSettings(window.location.hash), { chat: chatIdInAddress() });
}

/** Back to the chat that the settings or the set-up cover. */
export function showWorkbench(): void {
  write(chatAddress(chatIdInAddress()), true);
}

/** Whether the steps after the first account are shown. */
export function isSetup(hash: string): boolean {
  return hash === SETUP;
}

export function showSetup(): void {
  write(SETUP, true);
}

/** Whether the address names nothing that somebody wants to see. */
export function isPlain(hash: string): boolean {
  return hash === "" || hash === "#" || hash === "#/";
}

/** The secret that `sandbridge serve` printed as a part of the address to open. */
export function setupSecret(hash: string): string {
  return hash.startsWith(SECRET) ? decoded(hash.slice(SECRET.length)) : "";
}

/** The code that signs this page in, where its address brought one; it is for one use, so it does not stay there. */
export function takeSignInCode(): string | null {
  const { hash } = window.location;
  if (!hash.startsWith(SIGN_IN)) return null;
  write(chatAddress(null), true);
  return decoded(hash.slice(SIGN_IN.length));
}

/** Whether something covers the chat, which stays open behind it. */
export function isCovered(hash: string): boolean {
  return isSettings(hash) || isSetup(hash);
}

/** Calls back whenever the address changed; returns how to stop that. */
export function watchAddress(changed: () => void): () => void {
  const names = ["popstate", "hashchange", CHANGED];
  for (const name of names) window.addEventListener(name, changed);
  return () => {
    for (const name of names) window.removeEventListener(name, changed);
  };
}

/** What an address says, as it stands where it was cut off or changed on the way. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isSettings(hash: string): boolean {
  return hash === SETTINGS || hash.startsWith(`${SETTINGS}/`);
}

function chatAddress(id: string | null): string {
  return id === null ? "#/" : CHATS + encodeURIComponent(id);
}

function write(address: string, replace: boolean, state: object | null = null): void {
  if (replace) window.history.replaceState(state, "", address);
  else window.history.pushState(state, "", address);
  window.dispatchEvent(new Event(CHANGED));
}
