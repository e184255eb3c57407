/** A scripted model: a real HTTP server that speaks streaming chat completions, and gives the configured answers. */
import { createServer, type ServerResponse, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A request to the model, as received. */
export interface Asked {
  model: string;
  messages: { role: string; content: unknown; tool_calls?: unknown[] }[];
  tools?: { function: { name: string } }[];
}

/** The model's answer: a complete text, tool calls, a text streamed word by word, or an error. */
export type Reply =
  | { say: string; reasoning?: string }
  | { call: [tool: string, input: object][]; say?: string }
  | { stream: AsyncIterable<string> }
  | { refuse: number; body?: string };


/** The user's last message, without the text that the server adds. */
export function lastOfUser(asked: Asked): string {
  const last = asked.messages.findLast((message) => message.role === "user")?.content;
  const text = typeof last === "string" ? last : (last as { text?: string }[]).map((part) => part.text ?? "").join("\n");
  const said = text.split("<system-reminder>")[0] ?? "";
  return (said.split("</context>\n\n").at(-1) ?? said).trim();
}

/** True if the last message to the model is the result of a tool. */
export function isAfterTool(asked: Asked): boolean {
  return asked.messages.at(-1)?.role === "tool";
}

/** An answer whose words a test provides one by one, while the model streams them. */
export class Speech implements AsyncIterable<string> {
  private readonly words: string[] = [];
  private ended = false;
  private wake = () => {};

  say(word: string): void {
    this.words.push(word);
    this.wake();
  }

  end(): void {
    this.ended = true;
    this.wake();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<string> {
    for (;;) {
      const word = this.words.shift();
      if (word !== undefined) yield word;
      else if (this.ended) return;
      else await new Promise<void>((done) => (this.wake = done));
    }
  }
}

export class ScriptedModel {
  readonly asked: Asked[] = [];
  /** The only API key that the model accepts; null accepts any key, or none. */
  key: string | null = null;
  /** The names of models that it lists; null if it has no such list. */
  offers: string[] | null = ["scripted", "scripted-swift"];
  /** For its embeddings: words of each topic, whose texts get nearly equal vectors. Null if it makes no embeddings. */
  topics: string[][] | null = null;
  private script: (asked: Asked) => Reply = () => ({ say: "Nothing was scripted." });
  private readonly http: HttpServer;
  private calls = 0;

  private constructor() {
    this.http = createServer((request, response) => {
      if (this.key !== null && request.headers.authorization !== `Bearer ${this.key}`) {
        const error = { message: "Incorrect API key provided", type: "invalid_request_error", param: null, code: "invalid_api_key" };
        response.writeHead(401, { "content-type": "application/json" }).end(JSON.stringify({ error }));
        return;
      }
      if (request.method === "GET" && request.url === "/v1/models") return this.list(response);
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => {
        if (request.url === "/v1/embeddings") this.embed(JSON.parse(body) as { input: string[] }, response);
        else void this.answer(JSON.parse(body) as Asked, response);
      });
    });
  }

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    await new Promise<void>((done) => model.http.listen(0, "127.0.0.1", done));
    return model;
  }

  /** Sets the script that answers all further requests; `turn` counts the requests from 0. */
  answers(script: (asked: Asked, turn: number) => Reply): void {
    let turn = 0;
    this.script = (asked) => script(asked, turn++);
  }

  /** Gives these answers in order, and then repeats the last one. */
  answersWith(...replies: Reply[]): void {
    this.answers((_, turn) => replies[Math.min(turn, replies.length - 1)] ?? { say: "" });
  }

  /** The options with which `sandbridge serve` uses this model. */
  options(): string[] {
    const { port } = this.http.address() as AddressInfo;
    return ["--llm-provider", "openai", "--llm-base-url", `http://127.0.0.1:${port}`, "--llm-model", "scripted"];
  }

  async close(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((done) => this.http.close(done));
  }

  private list(response: ServerResponse): void {
    if (this.offers === null) {
      response.writeHead(404).end("404 page not found");
      return;
    }
    const data = this.offers.map((id) => ({ id, object: "model", created: 1_700_000_000, owned_by: "house" }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ object: "list", data }));
  }

  private embed({ input }: { input: string[] }, response: ServerResponse): void {
    const { topics } = this;
    if (topics === null) {
      response.writeHead(503).end("busy");
      return;
    }
    const isAbout = (text: string) => (words: string[]) => words.some((word) => text.toLowerCase().includes(word));
    const vector = (text: string) => [...topics.map((words) => Number(isAbout(text)(words))), 0.1, (text.length % 7) / 70];
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vector(text) }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ object: "list", data }));
  }

  private async answer(asked: Asked, response: ServerResponse): Promise<void> {
    this.asked.push(asked);
    const reply = this.script(asked);
    if ("refuse" in reply) {
      response.writeHead(reply.refuse).end(reply.body ?? "");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const event = (value: object) => response.write(`data: ${JSON.stringify(value)}\n\n`);
    const chunk = (delta: object, finish_reason: string | null = null) =>
      event({ id: "c", object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason }] });
    chunk({ role: "assistant", content: "" });
    if ("reasoning" in reply && reply.reasoning !== undefined) chunk({ reasoning_content: reply.reasoning });
    if ("stream" in reply) {
      for await (const word of reply.stream) chunk({ content: word });
    } else if (reply.say !== undefined) {
      for (const [piece] of reply.say.matchAll(/.{1,24}/gsu)) chunk({ content: piece });
    }
    const calls = "call" in reply ? reply.call : [];
    calls.forEach(([name, input], index) => {
      this.calls += 1;
      const named = { name, arguments: JSON.stringify(input) };
      chunk({ tool_calls: [{ index, id: `call_${this.calls}`, type: "function", function: named }] });
    });
    chunk({}, calls.length > 0 ? "tool_calls" : "stop");
    event({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 60 } } });
    response.end("data: [DONE]\n\n");
  }
}
