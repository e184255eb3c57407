// A client for the official conformance suite: it makes a running Sandbridge server talk to the suite's server, as the server's
// user would.
//
// The suite appends the address of its own server, and sets MCP_CONFORMANCE_SCENARIO and MCP_CONFORMANCE_CONTEXT.
// SANDBRIDGE_API is the address of the Sandbridge server's API, SANDBRIDGE_TOKEN a session's token. The server's model makes
// the calls that a message contains. SCENARIOS lists the scenarios to take part in, separated by spaces.
const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
if (!process.env.SCENARIOS.split(" ").includes(scenario)) process.exit(1);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const name = `s${process.pid}`;
const redirectUri = "http://localhost:3000/callback";

async function api(method, path, body) {
  const response = await fetch(`${process.env.SANDBRIDGE_API}${path}`, {
    method,
    headers: { authorization: `Bearer ${process.env.SANDBRIDGE_TOKEN}`, "content-type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await response.text();
  const answer = text === "" ? {} : JSON.parse(text);
  if (method !== "GET") console.error(method, path, response.status, text.slice(0, 400));
  return { status: response.status, kind: answer.error?.kind ?? answer.kind, answer, text };
}

/** Logs in like a user whose provider asks no questions: follows the page to the address to which it redirects the browser. */
async function logIn() {
  const start = { redirect_uri: redirectUri, client_id: context.client_id, client_secret: context.client_secret };
  if (scenario === "auth/basic-cimd") start.client_id = "https://conformance-test.local/client-metadata.json";
  const begun = await api("POST", `/mcp-servers/${name}/login`, start);
  if (begun.status !== 200) return false;
  const page = await fetch(begun.answer.url, { redirect: "manual" });
  const back = page.headers.get("location");
  console.error("sent back to", back);
  return back !== null && (await api("POST", "/mcp-logins", { url: back })).status === 200;
}

/** Removes the server, which closes the connection that the suite's server waits for, and exits. */
async function leave(code) {
  await api("DELETE", `/mcp-servers/${name}`);
  process.exit(code);
}

/** Returns arguments that fit a schema. */
function fitting(schema) {
  const value = (field) =>
    field.default ?? field.enum?.[0] ?? { number: 2, integer: 2, boolean: true, string: "x", array: [], object: {} }[field.type] ?? "x";
  return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([key, field]) => [key, value(field)]));
}

/** Posts the calls to make in a new chat, answers the server's questions, and returns the chat's messages with the results. */
async function call(calls) {
  const chat = (await api("POST", "/chats")).answer.id;
  await api("PUT", `/chats/${chat}/approval`, { mode: "full" });
  await api("POST", `/chats/${chat}/messages`, { text: JSON.stringify(calls) });
  const answered = new Set();
  for (;;) {
    const { messages } = (await api("GET", `/chats/${chat}/messages`)).answer;
    const open = messages.find((message) => message.agent?.status === "asking" && !answered.has(JSON.stringify(message)));
    if (open) {
      answered.add(JSON.stringify(open));
      // Answers with the first option, or with any text.
      await api("POST", `/chats/${chat}/answers`, { message_id: open.id, text: open.agent.data?.options?.[0] ?? "x" });
    }
    if (messages.some((message) => message.agent?.usage)) return JSON.stringify(messages);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// The suite waits for this client, and would report nothing about a hang.
setTimeout(() => void leave(1), 100_000).unref();

/** The server's definition, with client credentials in the scenarios that use them. */
function entry() {
  if (!scenario.startsWith("auth/client-credentials")) return { type: "http", url };
  const { client_id, client_secret, private_key_pem, signing_algorithm } = context;
  const oauth = { grantType: "client_credentials", clientId: client_id, clientSecret: client_secret };
  return { type: "http", url, oauth: { ...oauth, privateKey: private_key_pem, signingAlgorithm: signing_algorithm } };
}

if ((await api("PUT", `/mcp-servers/${name}`, entry())).status !== 204) process.exit(1);
let checked = await api("POST", `/mcp-servers/${name}/check`);
for (let tries = 0; checked.kind === "login_required" && tries < 3; tries++) {
  if (!(await logIn())) await leave(1);
  checked = await api("POST", `/mcp-servers/${name}/check`);
}
if (checked.status !== 200) await leave(1);
const usable = checked.answer.tools.filter((tool) => tool.state === "ready");
// Some scenarios name the tools to call.
const named = (wanted) => usable.find((tool) => tool.tool === wanted)?.name;
const wanted = context.toolCalls?.map((call) => [named(call.name), call.arguments ?? {}]);
const calls = wanted ?? usable.map((tool) => [tool.name, fitting(JSON.parse(tool.definition).schema)]);
// In this scenario a skill may be read only when a model asks for it.
if (calls.length > 0 && scenario !== "sep-2640-client-no-prefetch") {
  let results = await call(calls);
  for (let tries = 0; results.includes("requires a login") && tries < 3; tries++) {
    if (!(await logIn())) await leave(1);
    results = await call(calls);
  }
  if (results.includes("requires a login")) await leave(1);
}
await leave(0);
