/**
 * Keeps the open view in the address, so that reload, back and bookmarks work: `#/chats/ID`; `#/groups/ID`, `#/groups/ID/PART` and
 * `#/groups/ID/runs/RUN` in place of the chat that was open before (kept in the history's state); `#/settings/SECTION` over either;
 * `#/setup`, `#setup=SECRET` and `#sign-in=CODE`.
 */
const CHATS = "#/chats/";
const GROUPS = "#/groups/";
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

/** Writes the address; `replace` if the user did not cause the change. */
export function showChatId(id: string | null, replace: boolean): void {
  if (replace && isCovered(window.location.hash)) {
    const group = shownGroup(window.location.hash);
    window.history.replaceState({ chat: id, group }, "", window.location.hash);
  } else write(chatAddress(id), replace);
}

/** The open section of the settings: empty for their list, null while they are closed. */
export function settingsSection(hash: string): string | null {
  return isSettings(hash) ? hash.slice(SETTINGS.length + 1) : null;
}

/** Opens the settings, or another section of them. */
export function showSettings(section: string): void {
  const address = section === "" ? SETTINGS : `${SETTINGS}/${section}`;
  write(address, isSettings(window.location.hash), { chat: chatIdInAddress(), group: shownGroup(window.location.hash) });
}

/** Returns to the group or the chat that the settings or the setup covers. */
export function showWorkbench(): void {
  const group = shownGroup(window.location.hash);
  if (group !== null) write(group, true, { chat: chatIdInAddress() });
  else write(chatAddress(chatIdInAddress()), true);
}

/** The open part of a group; a run is shown under its chains. */
export type GroupPart = "log" | "members" | "chains";

export interface GroupAddress {
  id: number;
  part: GroupPart;
  /** The run of a chain that is open; null for the list. */
  run: number | null;
}

/** The group that is open, even while the settings cover it. */
export function groupInAddress(hash: string): GroupAddress | null {
  const address = shownGroup(hash);
  const found = address === null ? null : /^#\/groups\/(\d+)(?:\/(members|chains|runs\/(\d+)))?$/.exec(address);
  if (found === null) return null;
  const run = found[3] === undefined ? null : Number(found[3]);
  const part = run !== null || found[2] === "chains" ? "chains" : found[2] === "members" ? "members" : "log";
  return { id: Number(found[1]), part, run };
}

export function groupAddress(id: number, part: GroupPart = "log", run: number | null = null): string {
  const below = run !== null ? `/runs/${run}` : part === "log" ? "" : `/${part}`;
  return `${GROUPS}${id}${below}`;
}

/** Opens a group in place of the chat, to which "back" returns. */
export function showGroup(id: number, part: GroupPart = "log", run: number | null = null): void {
  write(groupAddress(id, part, run), false, { chat: chatIdInAddress() });
}

/** Leaves the group for the chat that was open before. */
export function leaveGroup(): void {
  write(chatAddress(chatIdInAddress()), true);
}

/** The address of the group that is open, or that the settings cover. */
function shownGroup(hash: string): string | null {
  if (hash.startsWith(GROUPS)) return hash;
  const kept: unknown = (window.history.state as { group?: unknown } | null)?.group;
  return isSettings(hash) && typeof kept === "string" ? kept : null;
}

/** True if the steps after the first account are shown. */
export function isSetup(hash: string): boolean {
  return hash === SETUP;
}

export function showSetup(): void {
  write(SETUP, true);
}

/** True if the address names no view. */
export function isPlain(hash: string): boolean {
  return hash === "" || hash === "#" || hash === "#/";
}

/** The secret from the address that `sandbridge serve` printed. */
export function setupSecret(hash: string): string {
  return hash.startsWith(SECRET) ? decoded(hash.slice(SECRET.length)) : "";
}

/** The sign-in code from the address, if any; it works once, so it is removed from the address. */
export function takeSignInCode(): string | null {
  const { hash } = window.location;
  if (!hash.startsWith(SIGN_IN)) return null;
  write(chatAddress(null), true);
  return decoded(hash.slice(SIGN_IN.length));
}

/** True if something covers the chat, which stays open below it. */
export function isCovered(hash: string): boolean {
  return isSettings(hash) || isSetup(hash) || hash.startsWith(GROUPS);
}

/** Calls back whenever the address changes; returns a function that stops it. */
export function watchAddress(changed: () => void): () => void {
  const names = ["popstate", "hashchange", CHANGED];
  for (const name of names) window.addEventListener(name, changed);
  return () => {
    for (const name of names) window.removeEventListener(name, changed);
  };
}

/** The decoded text of an address, unchanged if it is not validly encoded. */
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
