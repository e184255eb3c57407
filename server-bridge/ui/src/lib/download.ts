import { createApiClient, taken } from "../api";

// A 401 needs no handling here: the events socket also ends with the session, and then the login is shown.
const client = createApiClient(() => undefined);

/** Adds a ticket to a URL of this server, since the browser's own requests send no token. The URL works once, within a minute. */
export async function withTicket(address: string): Promise<string> {
  const { ticket } = await taken(client.POST("/api/v1/tickets", { body: { path: address } }));
  return `${address}${address.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

/** Downloads a file from a URL of this server, under the given name or the server's. */
export async function download(address: string, name = ""): Promise<void> {
  const link = document.createElement("a");
  link.href = await withTicket(address);
  link.download = name;
  link.click();
}
