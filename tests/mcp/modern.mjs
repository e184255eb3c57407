// A server of the era that began on 2026-07-28, over standard streams: it refuses `initialize`. Its tools ask their user, or the
// user's model, before they answer.
import { fromJsonSchema, inputRequired, acceptedContent, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

function server() {
  const server = new McpServer({ name: "modern", version: "1.0.0" });
  const count = { type: "object", properties: { count: { type: "integer" } }, required: ["count"] };
  server.registerTool(
    "double",
    { description: "Doubles a count.", inputSchema: fromJsonSchema(count), annotations: { readOnlyHint: true } },
    async ({ count }) => ({ content: [{ type: "text", text: `twice is ${2 * count}` }] }),
  );
  const colour = { type: "object", properties: { colour: { type: "string", enum: ["red", "blue"] } }, required: ["colour"] };
  server.registerTool("paint", { description: "Paints a door." }, async (context) => {
    const said = acceptedContent(context.mcpReq.inputResponses, "colour");
    if (said === undefined) {
      const ask = inputRequired.elicit({ message: "Which colour?", requestedSchema: colour });
      return inputRequired({ inputRequests: { colour: ask } });
    }
    return { content: [{ type: "text", text: `the door is ${said.colour}` }] };
  });
  const page = { type: "object", properties: { url: { type: "string" } }, required: ["url"] };
  server.registerTool("visit", { description: "Visits a page.", inputSchema: fromJsonSchema(page) }, async ({ url }, context) => {
    const visit = context.mcpReq.inputResponses?.visit;
    if (visit === undefined) {
      return inputRequired({ inputRequests: { visit: inputRequired.elicitUrl({ message: "Please log in.", url }) } });
    }
    return { content: [{ type: "text", text: `the visit: ${visit.action}` }] };
  });
  server.registerTool("recite", { description: "Recites a poem." }, async (context) => {
    const poem = context.mcpReq.inputResponses?.poem;
    if (poem === undefined) {
      const messages = [{ role: "user", content: { type: "text", text: "Write a poem." } }];
      return inputRequired({ inputRequests: { poem: inputRequired.createMessage({ messages, maxTokens: 30 }) } });
    }
    return { content: [{ type: "text", text: `it goes: ${poem.content.text}` }] };
  });
  return server;
}

serveStdio(server, { legacy: "reject" });
