import { createApiClient, taken } from "../api";

// A 401 needs nothing here: the events socket ends with the session too, and shows the login.
const client = createApiClient(() => undefined);

/** An address of this server with a ticket, since the browser's own requests send no token. It opens once, within a minute. */
export async function withTicket(address: string): Promise<string> {
  const { ticket } = await taken(client.POST("/api/v1/tickets", { body: { path: address } }));
  return `${address}${address.includes("?") ? "&" : "?"}ticket=${ticket}`;
}

/** Downloads a file from an address of this server, under the given name or its own. */
export async function download(address: string, name = ""): Promise<void> {
  const link = document.createElement("a");
  link.href = await withTicket(address);
  link.download = name;
  link.click();
}
