/**
 * The open view, in the address, so that reload, back and bookmarks work: `#/chats/ID`, `#/settings/SECTION` over the chat that was
 * open before (kept in the history's state), `#/setup`, `#setup=SECRET` and `#sign-in=CODE`.
 */
const CHATS = "#/chats/";
const SETTINGS = "#/settings";
const SETUP = "#/setup";
const SECRET = "#setup=";
const SIGN_IN = "#sign-in=";

/** The event for address changes made by this page itself; the browser reports back and forward. */
const CHANGED = "sandbridge:address";

/** The open chat, even while the settings cover it. */
export function chatIdInAddress(): string | null {
  const { hash } = window.location;
  if (hash.startsWith(CHATS)) return decoded(hash.slice(CHATS.length));
  const kept: unknown = (window.history.state as { chat?: unknown } | null)?.chat;
  return typeof kept === "string" ? kept : null;
}

/** Writes the address; `replace` if the change was not the user's own step. */
export function showChatId(id: string | null, replace: boolean): void {
  if (replace && isCovered(window.location.hash)) window.history.replaceState({ chat: id }, "", window.location.hash);
  else write(chatAddress(id), replace);
}

/** The open section of the settings: empty for their list, null while they are closed. */
export function settingsSection(hash: string): string | null {
  return isSettings(hash) ? hash.slice(SETTINGS.length + 1) : null;
}

/** Opens the settings, or another section of them. */
export function showSettings(section: string): void {
  const address = section === "" ? SETTINGS : `${SETTINGS}/${section}`;
  write(address, isSettings(window.location.hash), { chat: chatIdInAddress() });
}

/** Returns to the chat that the settings or the set-up cover. */
export function showWorkbench(): void {
  write(chatAddress(chatIdInAddress()), true);
}

/** True if the steps after the first account are shown. */
export function isSetup(hash: string): boolean {
  return hash === SETUP;
}

export function showSetup(): void {
  write(SETUP, true);
}

/** True if the address is empty: it names no page. */
export function isPlain(hash: string): boolean {
  return hash === "" || hash === "#" || hash === "#/";
}

/** The secret from the address that `sandbridge serve` printed. */
export function setupSecret(hash: string): string {
  return hash.startsWith(SECRET) ? decoded(hash.slice(SECRET.length)) : "";
}

/** The sign-in code of the address, if any; it is for one use, so it is removed from the address. */
export function takeSignInCode(): string | null {
  const { hash } = window.location;
  if (!hash.startsWith(SIGN_IN)) return null;
  write(chatAddress(null), true);
  return decoded(hash.slice(SIGN_IN.length));
}

/** True if something covers the chat, which stays open below it. */
export function isCovered(hash: string): boolean {
  return isSettings(hash) || isSetup(hash);
}

/** Calls back whenever the address changes; returns a function that stops it. */
export function watchAddress(changed: () => void): () => void {
  const names = ["popstate", "hashchange", CHANGED];
  for (const name of names) window.addEventListener(name, changed);
  return () => {
    for (const name of names) window.removeEventListener(name, changed);
  };
}

/** The decoded text of an address, unchanged if it was cut off or damaged on the way. */
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
