// Passes requests on to the server at TARGET with the key in KEY, since the official conformance suite cannot send a key. A Host or
// Origin with this proxy's address is changed to the target's; any other is passed on unchanged.
import { createServer, request } from "node:http";

const target = new URL(process.env.TARGET);

const server = createServer((incoming, outgoing) => {
  const own = `${incoming.headers.host ?? ""}`.replace(/^localhost|^127\.0\.0\.1/, "") === `:${server.address().port}`;
  const headers = { ...incoming.headers, authorization: `Bearer ${process.env.KEY}` };
  if (own) {
    headers.host = target.host;
    if (headers.origin !== undefined) headers.origin = target.origin;
  }
  const options = { host: target.hostname, port: target.port, path: incoming.url, method: incoming.method, headers };
  const passed = request(options, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  passed.on("error", () => outgoing.destroy());
  outgoing.on("close", () => passed.destroy());
  incoming.pipe(passed);
});
server.listen(0, "127.0.0.1", () => console.log(`listening ${server.address().port}`));
