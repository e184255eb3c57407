/** The open chat in the address (`#/chats/ID`), so that reload, back and bookmarks work. */
const PREFIX = "#/chats/";

export function chatIdInAddress(): string | null {
  const { hash } = window.location;
  return hash.startsWith(PREFIX) ? decodeURIComponent(hash.slice(PREFIX.length)) : null;
}

/** Writes the address; `replace` where the change was not the user's own step. */
export function showChatId(id: string | null, replace: boolean): void {
  const address = id === null ? "#/" : PREFIX + encodeURIComponent(id);
  if (replace) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
}
