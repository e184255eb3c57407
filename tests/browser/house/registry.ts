/** A registry of images that serves one image, whose largest layer arrives only as far as a test allows. */
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { output } from "./process";

/** The size of the layer that arrives slowly, and of the pieces in which it is sent. */
const LAYER_BYTES = 8 * 1024 * 1024;
const PIECE_BYTES = 64 * 1024;
/** The pause between two pieces: an engine does not report the progress of a layer that arrives at once. */
const PIECE_MS = 10;

const INDEX_TYPE = "application/vnd.oci.image.manifest.v1+json";

const digestOf = (content: Buffer) => `sha256:${createHash("sha256").update(content).digest("hex")}`;

/** Runs the docker CLI. */
export function docker(...options: string[]): Promise<string> {
  return output("docker", options, {});
}

export class Registry {
  /** True if the registry answers requests for images; otherwise it reports an error. */
  isUp = true;
  private readonly blobs = new Map<string, Buffer>();
  private readonly http: HttpServer;
  private manifest = Buffer.alloc(0);
  private slow = "";
  private allow = () => {};
  private readonly allowed = new Promise<void>((done) => (this.allow = done));

  private constructor() {
    this.http = createServer((request, response) => void this.answer(request.url ?? "", request.method === "HEAD", response));
  }

  /** Serves an image of the engine, with a layer that the engine does not have. */
  static async start(image: string): Promise<Registry> {
    const registry = new Registry();
    await registry.read(image);
    await new Promise<void>((done) => registry.http.listen(0, "127.0.0.1", done));
    return registry;
  }

  /** The image's name for an engine on this machine. */
  get image(): string {
    return `127.0.0.1:${(this.http.address() as AddressInfo).port}/tools:1`;
  }

  /** Lets the second half of the layer arrive. */
  finish(): void {
    this.allow();
  }

  async close(): Promise<void> {
    this.http.closeAllConnections();
    await new Promise((done) => this.http.close(done));
  }

  private keep(content: Buffer): { digest: string; size: number } {
    const digest = digestOf(content);
    this.blobs.set(digest, content);
    return { digest, size: content.length };
  }

  private async read(image: string): Promise<void> {
    const directory = mkdtempSync(join(tmpdir(), "sandbridge-image-"));
    try {
      await docker("save", "--output", join(directory, "image.tar"), image);
      await output("tar", ["-xf", join(directory, "image.tar"), "-C", directory], {});
      const file = (name: string) => readFileSync(join(directory, name));
      const [saved] = JSON.parse(file("manifest.json").toString()) as { Config: string; Layers: string[] }[];
      if (saved === undefined) throw new Error(`docker save wrote no image ${image}`);
      const type = "application/vnd.oci.image.layer.v1.tar";
      const layers = saved.Layers.map((path) => ({ mediaType: type, ...this.keep(file(path)) }));
      const extra = { mediaType: type, ...this.keep(tar("filling", randomBytes(LAYER_BYTES))) };
      this.slow = extra.digest;
      const config = JSON.parse(file(saved.Config).toString()) as { rootfs: { diff_ids: string[] }; history?: unknown };
      config.rootfs.diff_ids.push(extra.digest);
      delete config.history;
      const kept = { mediaType: "application/vnd.oci.image.config.v1+json", ...this.keep(Buffer.from(JSON.stringify(config))) };
      this.manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: INDEX_TYPE, config: kept, layers: [...layers, extra] }));
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  }

  private async answer(path: string, isHead: boolean, response: ServerResponse): Promise<void> {
    const content = /^\/v2\/tools\/manifests\//.test(path) ? this.manifest : this.blobs.get(path.replace("/v2/tools/blobs/", ""));
    if (!this.isUp || (content === undefined && path !== "/v2/")) {
      const code = this.isUp ? "BLOB_UNKNOWN" : "UNAVAILABLE";
      response.writeHead(this.isUp ? 404 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify({ errors: [{ code, message: "the registry is being cleaned" }] }));
      return;
    }
    const body = content ?? Buffer.from("{}");
    const digest = digestOf(body);
    const type = content === this.manifest ? INDEX_TYPE : "application/octet-stream";
    response.writeHead(200, { "content-type": type, "content-length": body.length, "docker-content-digest": digest });
    if (isHead || digest !== this.slow) {
      response.end(isHead ? undefined : body);
      return;
    }
    for (let at = 0; at < body.length; at += PIECE_BYTES) {
      if (at >= body.length / 2) await this.allowed;
      response.write(body.subarray(at, at + PIECE_BYTES));
      await new Promise((done) => setTimeout(done, PIECE_MS));
    }
    response.end();
  }
}

/** An archive of one file. */
function tar(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(512);
  const octal = (value: number, width: number) => `${value.toString(8).padStart(width - 1, "0")}\0`;
  head.write(name, 0);
  for (const [value, at, width] of [[0o644, 100, 8], [0, 108, 8], [0, 116, 8], [content.length, 124, 12], [0, 136, 12]] as const) head.write(octal(value, width), at);
  head.write("        0", 148);
  head.write("ustar\x0000", 257);
  head.write(`${head.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `, 148);
  const filled = Buffer.alloc(Math.ceil(content.length / 512) * 512);
  content.copy(filled);
  return Buffer.concat([head, filled, Buffer.alloc(1024)]);
}
