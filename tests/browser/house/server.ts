/** A running `sandbridge serve` with a separate home, its users and their machines. */
import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { binary, output, start, stop } from "./process";

export const PASSWORD = "correct horse battery";

/** The time within which a runner must be online. */
const ONLINE_MS = 60_000;
const POLL_MS = 50;

export function temporary(name: string): string {
  return mkdtempSync(join(tmpdir(), `sandbridge-${name}-`));
}

export class Server {
  readonly home = temporary("server");
  url = "";
  /** The address for the first account, once it has been printed. */
  private setup = new Promise<string>(() => {});
  private child: ChildProcess | null = null;

  constructor(private readonly options: string[]) {}

  /** Starts the server, at its previous address if it was started before. */
  async start(): Promise<void> {
    const address = this.url === "" ? "127.0.0.1:0" : new URL(this.url).host;
    const child = start(
      binary("sandbridge"),
      ["serve", "--listen", address, ...(this.options.includes("--docker") ? [] : ["--docker", "off"]), ...this.options],
      { SANDBRIDGE_HOME: this.home, SANDBRIDGE_RUNNER: binary("sandbridge-runner"), SANDBRIDGE_LOG: process.env.SANDBRIDGE_LOG ?? "warn" },
      ["ignore", "pipe", "inherit"],
    );
    this.child = child;
    if (child.stdout === null) throw new Error("the server's output is no pipe");
    const lines = createInterface({ input: child.stdout });
    this.setup = new Promise((done) => lines.on("line", (line) => line.includes("#setup=") && done(line)));
    const first = await new Promise<string>((done, failed) => {
      lines.once("line", done);
      child.once("exit", () => failed(new Error("the server ended before it listened")));
    });
    const url = first.split(/\s+/).find((word) => word.startsWith("http"));
    if (url === undefined) throw new Error(`no address in: ${first}`);
    this.url = url.replace(/\/$/, "");
  }

  /** The secret for creating the first account, which the server prints while there is none. */
  async setupSecret(): Promise<string> {
    return (await this.setup).split("#setup=")[1]?.trim() ?? "";
  }

  /** Stops the server, by a shutdown or a kill. */
  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.child !== null) await stop(this.child, signal);
    this.child = null;
  }

  async restart(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    await this.stop(signal);
    await this.start();
  }

  /** Runs `sandbridge` as the server's operator. */
  administer(options: string[], input = ""): Promise<string> {
    return output(binary("sandbridge"), options, { SANDBRIDGE_HOME: this.home }, input);
  }

  /** Adds a user and logs in. */
  async person(name: string, options: string[] = []): Promise<Person> {
    await this.administer(["user", "add", name, "--password-stdin", ...options], PASSWORD);
    const person = new Person(this, name);
    await person.run(["login", "--user", name, "--password-stdin"], PASSWORD);
    return person;
  }

  async close(): Promise<void> {
    await this.stop();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** A user with a separate client, which is logged in. */
export class Person {
  private readonly home = temporary("client");
  private readonly machines: Machine[] = [];

  constructor(
    readonly server: Server,
    readonly name: string,
  ) {}

  /** Runs the CLI and returns its output. */
  run(options: string[], input = ""): Promise<string> {
    return output(binary("sandbridge"), options, { SANDBRIDGE_HOME: this.home, SANDBRIDGE_SERVER: this.server.url }, input);
  }

  async json(options: string[]): Promise<any> {
    return JSON.parse(await this.run([...options, "--json"]));
  }

  /** Registers a machine, starts its runner and waits until it is online. */
  async machine(name: string, options: string[] = []): Promise<Machine> {
    const { token } = await this.json(["runner", "add", name, "--permanent"]);
    const machine = new Machine(this, name, token, options);
    this.machines.push(machine);
    machine.start();
    await this.online(name);
    return machine;
  }

  async online(name: string, online = true): Promise<void> {
    const deadline = Date.now() + ONLINE_MS;
    for (;;) {
      const runners: { name: string; online: boolean }[] = await this.json(["runner", "list"]);
      if (runners.some((runner) => runner.name === name && runner.online === online)) return;
      if (Date.now() > deadline) throw new Error(`runner ${name} is not ${online ? "online" : "offline"}`);
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.close()));
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** A running `sandbridge-runner` with its workspace. */
export class Machine {
  readonly workspace: string;
  private readonly state: string;
  private child: ChildProcess | null = null;

  constructor(
    private readonly owner: Person,
    readonly name: string,
    private readonly token: string,
    private readonly options: string[],
  ) {
    this.workspace = temporary(`ws-${name}`);
    this.state = temporary("state");
  }

  start(): void {
    const where = ["--workspace", this.workspace, "--state-dir", this.state];
    this.child = start(
      binary("sandbridge-runner"),
      ["--server", this.owner.server.url, "--name", this.name, "--token-file", "-", ...where, ...this.options],
      {},
      ["pipe", "ignore", process.env.SANDBRIDGE_LOG ? "inherit" : "ignore"],
    );
    this.child.stdin?.end(`${this.token}\n`);
  }

  async stop(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    if (this.child !== null) await stop(this.child, signal);
    this.child = null;
  }

  async close(): Promise<void> {
    await this.stop();
    for (const directory of [this.workspace, this.state]) rmSync(directory, { recursive: true, force: true });
  }
}
