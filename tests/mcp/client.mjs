// The official client of the Model Context Protocol, driven by lines of JSON: {"do", …} in, {"ok"} or {"error"} out.
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const clients = new Map();
const calls = new Map();

const transport = ({ url, key, command, args, env }) =>
  url
    ? new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { authorization: `Bearer ${key}` } } })
    : new StdioClientTransport({ command, args, env: { ...process.env, ...env } });

const actions = {
  async connect({ name, ...where }) {
    const client = new Client({ name: "sandbridge-tests", version: "1" });
    await client.connect(transport(where));
    clients.set(name, client);
    return { server: client.getServerVersion(), instructions: client.getInstructions() };
  },
  list: ({ name }) => clients.get(name).listTools(),
  ping: ({ name }) => clients.get(name).ping(),
  async call({ name, tool, args, watch, id }) {
    const heard = [];
    const cancel = new AbortController();
    calls.set(id, cancel);
    const onprogress = watch ? (progress) => heard.push(progress) : undefined;
    const options = { signal: cancel.signal, onprogress, timeout: 60_000 };
    const result = await clients.get(name).callTool({ name: tool, arguments: args }, undefined, options);
    return { ...result, heard };
  },
  cancel: ({ call }) => calls.get(call).abort("the test wants it to stop"),
  close: ({ name }) => clients.get(name).close(),
};

const say = (answer) => process.stdout.write(`${JSON.stringify(answer)}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  Promise.resolve()
    .then(() => actions[asked.do](asked))
    .then((ok) => say({ id: asked.id, ok: ok ?? null }))
    .catch((error) => say({ id: asked.id, error: String(error?.message ?? error), code: error?.code }));
}
process.exit(0);
