/** Starts and stops the built programs, which are in the directory that `BINARIES` names. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";

const DIRECTORY = process.env.BINARIES ?? resolve(import.meta.dirname, "../../../target/debug");

/** The time that a process has for an orderly shutdown before it is killed. */
const STOP_MS = 10_000;

export function binary(name: "sandbridge" | "sandbridge-runner"): string {
  const path = join(DIRECTORY, name);
  if (!existsSync(path)) throw new Error(`${path} is missing: run scripts/test, or cargo build --workspace --bins`);
  return path;
}

/** The running processes, which are killed when the test process exits. */
const alive = new Set<ChildProcess>();
process.on("exit", () => alive.forEach((child) => child.kill("SIGKILL")));

export function start(program: string, options: string[], environment: Record<string, string>, stdio: StdioOptions): ChildProcess {
  const child = spawn(program, options, { env: { ...process.env, ...environment }, stdio });
  alive.add(child);
  child.on("exit", () => alive.delete(child));
  return child;
}

/** Stops a process and waits until it has exited. */
export async function stop(child: ChildProcess, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((done) => child.once("exit", done));
  child.kill(signal);
  const killer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
  await ended;
  clearTimeout(killer);
}

/** Runs a program to its end and returns its standard output. */
export async function output(program: string, options: string[], environment: Record<string, string>, input = ""): Promise<string> {
  const child = start(program, options, environment, ["pipe", "pipe", "pipe"]);
  let [said, complained] = ["", ""];
  child.stdout?.on("data", (bytes) => (said += bytes));
  child.stderr?.on("data", (bytes) => (complained += bytes));
  // A program need not read its input.
  child.stdin?.on("error", () => {});
  child.stdin?.end(input);
  const code = await new Promise((done) => child.once("close", done));
  if (code !== 0) throw new Error(`${program} ${options.join(" ")} ended with ${code}: ${complained}`);
  return said;
}
