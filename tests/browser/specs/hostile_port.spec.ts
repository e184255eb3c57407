/**
 * A page on another port of the server's host receives the server's cookies, since cookies ignore ports; it must not be able to
 * use them.
 */
import { createServer, type IncomingHttpHeaders } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createHash, randomBytes } from "node:crypto";
import type { Page } from "@playwright/test";
import { expect, run, test } from "../house/test";

/** A page on another port, which records the headers of every request to it. */
async function hostile(page: string) {
  const received: IncomingHttpHeaders[] = [];
  const http = createServer((request, response) => {
    received.push(request.headers);
    response.writeHead(200, { "content-type": "text/html" }).end(page);
  });
  await new Promise<void>((done) => http.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  return { url, received, close: () => new Promise((done) => http.close(done)) };
}

/** Sends a request with exactly these headers, even those that a browser would forbid; returns the status. */
async function raw(server: string, method: string, path: string, headers: Record<string, string>, body = ""): Promise<number> {
  const { hostname, port, host } = new URL(server);
  const lines = Object.entries({ host, "content-length": String(body.length), connection: "close", ...headers }).map(([name, value]) => `${name}: ${value}`);
  const socket = connect(Number(port), hostname);
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`);
  let answer = "";
  for await (const bytes of socket) {
    answer += String(bytes);
    // An open WebSocket never ends, so reading stops after the headers.
    if (answer.includes("\r\n")) break;
  }
  socket.destroy();
  return Number(answer.split(" ")[1]);
}

/** Everything that can be tried with a received cookie; returns the attempts that succeeded. */
async function whatOpens(server: string, cookie: string): Promise<string[]> {
  const opened: string[] = [];
  const secrets = cookie.split(/;\s*/).map((pair) => pair.split("=")[1] ?? "");
  const key = JSON.stringify({ name: "stolen", scope: "full" });
  const json = { "content-type": "application/json" };
  const socket = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13", "sec-websocket-key": randomBytes(16).toString("base64") };
  const attempt = async (what: string, method: string, path: string, headers: Record<string, string>, body = "") => {
    const status = await raw(server, method, path, headers, body);
    if (![400, 401, 403].includes(status)) opened.push(`${what}: ${method} ${path} ${status}`);
  };
  for (const origin of [server, "http://127.0.0.1:1", ""]) {
    const from: Record<string, string> = origin === "" ? {} : { origin };
    for (const secret of secrets) {
      for (const [what, credentials] of [
        ["the cookie", { cookie }],
        ["as Bearer", { authorization: `Bearer ${secret}` }],
        ["as Bearer with another prefix", { authorization: `Bearer ${secret.replace("sbc_", "sbs_")}` }],
        ["as both", { authorization: `Bearer ${secret}`, cookie }],
        ["under the old name", { cookie: `sandbridge_session=${secret}` }],
      ] as [string, Record<string, string>][]) {
        const headers = { ...from, ...credentials };
        await attempt(what, "GET", "/api/v1/me", headers);
        await attempt(what, "GET", "/api/v1/chats", headers);
        await attempt(what, "POST", "/api/v1/keys", { ...headers, ...json }, key);
        await attempt(what, "POST", "/api/v1/users", { ...headers, ...json }, JSON.stringify({ name: "mallory", password: "a long password", admin: true }));
        await attempt(what, "POST", "/api/v1/tickets", { ...headers, ...json }, JSON.stringify({ path: "/api/v1/files?path=." }));
        await attempt(what, "POST", "/api/v1/confirm", { ...headers, ...json }, JSON.stringify({ password: "guessed" }));
        await attempt(what, "GET", "/api/v1/events", { ...headers, ...socket });
        await attempt(what, "GET", "/api/v1/exec", { ...headers, ...socket, "sec-websocket-protocol": `sandbridge, bearer.${secret}` });
      }
      const guesses = ["", secret, createHash("sha256").update(secret).digest("base64url"), randomBytes(24).toString("base64url")];
      for (const ticket of guesses) await attempt("a guessed ticket", "GET", `/api/v1/files?path=.&ticket=${ticket}`, { ...from, cookie });
    }
  }
  return opened;
}

/** The attempts of the hostile page's own scripts in the browser: they do not see answers, but may have had an effect. */
async function attack(page: Page, server: string): Promise<void> {
  await page.evaluate(async (target) => {
    const body = JSON.stringify({ name: "forged", scope: "full" });
    const options = { method: "POST", credentials: "include", mode: "no-cors", body } as const;
    await fetch(`${target}/api/v1/keys`, options).catch(() => undefined);
    await fetch(`${target}/api/v1/keys`, { ...options, headers: { "content-type": "text/plain" } }).catch(() => undefined);
    await fetch(`${target}/api/v1/keys`, { ...options, mode: "cors", headers: { "content-type": "application/json" } }).catch(() => undefined);
    for (const protocols of [[], ["sandbridge"], ["sandbridge", "bearer.x"]]) {
      await new Promise((done) => {
        const socket = new WebSocket(`${target.replace("http", "ws")}/api/v1/events`, protocols);
        socket.onmessage = () => (document.title = "opened");
        socket.onclose = socket.onerror = () => done(null);
      });
    }
    const frame = document.createElement("iframe");
    frame.name = "sink";
    document.body.append(frame);
    const form = Object.assign(document.createElement("form"), { method: "post", action: `${target}/api/v1/keys`, enctype: "text/plain", target: "sink" });
    form.append(Object.assign(document.createElement("input"), { name: '{"name":"formed","x":"', value: '"}' }));
    document.body.append(form);
    await new Promise((done) => {
      frame.onload = done;
      form.submit();
      setTimeout(done, 2_000);
    });
  }, server);
}

test("cookies received by a page on another port of the host give no access", async ({ page, server, alice }) => {
  await run(page, "!true");
  const trap = await hostile("<!doctype html><title>harmless</title><img src=/pixel>");
  const other = await page.context().newPage();
  await other.goto(trap.url);
  await expect.poll(() => trap.received.length).toBeGreaterThan(1);
  const cookies = trap.received.map((headers) => headers.cookie ?? "");
  // Browsers do send the cookie there, but it must not be sufficient.
  expect(cookies.join()).toContain(`sandbridge_${new URL(server.url).port}=`);
  const whole = JSON.stringify(trap.received);
  const token = await page.evaluate(() => localStorage.getItem("sandbridge.session"));
  expect(token).toMatch(/^sbs_/);
  expect(whole).not.toContain(token);
  expect(await whatOpens(server.url, cookies.find((cookie) => cookie !== "") ?? "")).toEqual([]);
  await attack(other, server.url);
  expect(await other.title()).toBe("harmless");
  expect(await other.evaluate(() => document.cookie + JSON.stringify({ ...localStorage }))).not.toContain("sb");
  expect(await alice.json(["key", "list"])).toEqual([]);
  // The page itself still works.
  expect(await run(page, "!echo still-here")).toContain("still-here");
  await other.close();
  await trap.close();
});

test("a page on another port that plants cookies does not lock a user out", async ({ page, server }) => {
  const name = `sandbridge_${new URL(server.url).port}`;
  const trap = await hostile(`<!doctype html><title>harmless</title><script>document.cookie="${name}=planted; path=/api"</script>`);
  const other = await page.context().newPage();
  await other.goto(trap.url);
  expect(await other.evaluate(() => document.readyState)).toBe("complete");
  await page.reload();
  expect(await run(page, "!echo still-here")).toContain("still-here");
  await other.close();
  await trap.close();
});
