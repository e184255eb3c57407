/**
 * The redirect that ends a login to an MCP server or to the service of a channel: the provider sends the browser to
 * `/?code=…&state=…`, or to `/?error=…&state=…`. That address is as sensitive as a password until it is used.
 */

/** True if a query is a provider's answer to a login. */
export function isLoginReturn(search: string): boolean {
  const query = new URLSearchParams(search);
  return query.has("state") && (query.has("code") || query.has("error"));
}

/** The whole address if it is such a redirect, which is then removed from the address and from the history. */
export function takeLoginReturn(): string | null {
  const { href, search } = window.location;
  if (!isLoginReturn(search)) return null;
  const without = new URL(href);
  without.search = "";
  window.history.replaceState(null, "", without);
  return href;
}

/** The address of a login page, if a browser may open it: the MCP server chose it, and the server may not be trustworthy. */
export function loginPage(url: string): URL | null {
  try {
    const page = new URL(url);
    return ["https:", "http:"].includes(page.protocol) ? page : null;
  } catch {
    return null;
  }
}
