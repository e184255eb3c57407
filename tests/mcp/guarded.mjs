// An MCP server over HTTP that requires a login, and the provider of the logins, in one. It counts refreshes. The first token of a
// login is valid for LIFETIME s, a refreshed token for an hour. The client `sandbridge` also gets tokens with the secret `s3cret`.
import { createHash, randomUUID } from "node:crypto";
import { createServer } from "node:http";

const lifetime = Number(process.env.LIFETIME ?? "3600");
let refreshes = 0;
let refreshToken = "";
const challenges = new Map();
const tokens = new Map();

function issue(lifetime) {
  const token = randomUUID();
  tokens.set(token, Date.now() + lifetime * 1000);
  refreshToken = randomUUID();
  return { access_token: token, token_type: "Bearer", expires_in: lifetime, refresh_token: refreshToken };
}

function tool(message) {
  const result = {
    initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "guarded", version: "1" } },
    "tools/list": { tools: [{ name: "whoami", description: "Says who is logged in.", inputSchema: { type: "object" } }] },
    "tools/call": { content: [{ type: "text", text: "you are logged in" }] },
  }[message.method];
  const error = { code: -32601, message: "not known here" };
  return { jsonrpc: "2.0", id: message.id, ...(result === undefined ? { error } : { result }) };
}

const server = createServer(async (request, response) => {
  const base = `http://127.0.0.1:${server.address().port}`;
  const url = new URL(request.url, base);
  let body = "";
  for await (const chunk of request) body += chunk;
  const json = (status, value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
  if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) {
    return json(200, { resource: `${base}/mcp`, authorization_servers: [base] });
  }
  if (url.pathname === "/.well-known/oauth-authorization-server") {
    return json(200, {
      issuer: base,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      registration_endpoint: `${base}/register`,
      response_types_supported: ["code"],
      grant_types_supported: ["authorization_code", "refresh_token"],
      code_challenge_methods_supported: ["S256"],
      token_endpoint_auth_methods_supported: ["none"],
      authorization_response_iss_parameter_supported: true,
    });
  }
  if (url.pathname === "/register") return json(201, { client_id: "sandbridge", redirect_uris: JSON.parse(body).redirect_uris });
  if (url.pathname === "/authorize") {
    const code = randomUUID();
    challenges.set(code, url.searchParams.get("code_challenge"));
    const back = new URL(url.searchParams.get("redirect_uri"));
    back.search = new URLSearchParams({ code, state: url.searchParams.get("state"), iss: base });
    response.writeHead(302, { location: String(back) });
    return response.end();
  }
  if (url.pathname === "/token") {
    const form = new URLSearchParams(body);
    if (form.get("grant_type") === "refresh_token") {
      // Slow, so that simultaneous calls overlap here if they do not wait for each other.
      await new Promise((resolve) => setTimeout(resolve, 300));
      if (form.get("refresh_token") !== refreshToken) return json(400, { error: "invalid_grant" });
      refreshes += 1;
      return json(200, issue(3600));
    }
    if (form.get("grant_type") === "client_credentials") {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const proof = `Basic ${Buffer.from("sandbridge:s3cret").toString("base64")}`;
      if (request.headers.authorization !== proof) return json(401, { error: "invalid_client" });
      const { refresh_token: _, ...token } = issue(refreshes === 0 ? lifetime : 3600);
      refreshes += 1;
      return json(200, token);
    }
    const verifier = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    if (challenges.get(form.get("code")) !== verifier) return json(400, { error: "invalid_grant" });
    challenges.delete(form.get("code"));
    return json(200, issue(lifetime));
  }
  if (url.pathname === "/refreshes") return json(200, refreshes);
  if (url.pathname === "/valid") return json(200, [...tokens.values()].filter((end) => end > Date.now()).length);
  if (url.pathname === "/mcp" && request.method === "POST") {
    const token = (request.headers.authorization ?? "").replace("Bearer ", "");
    if (!((tokens.get(token) ?? 0) > Date.now())) {
      const metadata = `${base}/.well-known/oauth-protected-resource`;
      return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}"` });
    }
    const message = JSON.parse(body);
    if (message.id === undefined) {
      response.writeHead(202);
      return response.end();
    }
    return json(200, tool(message));
  }
  json(404, {});
});
server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
