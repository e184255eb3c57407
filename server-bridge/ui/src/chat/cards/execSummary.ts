/** Descriptions of how a command ended. Pure. */
import type { TFunction } from "i18next";
import { duration, type Tone } from "../../lib/format";
import { placeName } from "../../state/where";
import type { Exec } from "../../types";
import type { ShellEnding } from "./shellResult";

const SIGNALS: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  6: "SIGABRT",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  15: "SIGTERM",
};

/** A command's status line, "exit 0 · 1.2 s · on laptop", and its tone. */
export function execSummary(exec: Exec, t: TFunction<"chat">): { text: string; tone: Tone } {
  const parts = [outcome(exec, t)];
  if (exec.sandbox_denied) parts.push(t("exec.denied"));
  if (exec.duration_ms !== null) parts.push(duration(exec.duration_ms));
  if (exec.runner !== null) parts.push(t("exec.on", { place: placeName(exec.runner) }));
  return { text: parts.join(" · "), tone: tone(exec) };
}

/** The ending of a model's command, worded as for a user's command. */
export function endingText(ending: ShellEnding, t: TFunction<"chat">): string {
  switch (ending.kind) {
    case "exited":
      return t("exec.exited", { code: ending.code });
    case "signaled":
      return signaled(ending.signal, t);
    case "expired":
      return t("exec.expired");
  }
}

function outcome(exec: Exec, t: TFunction<"chat">): string {
  if (exec.status === "exited") return t("exec.exited", { code: exec.exit_code ?? "?" });
  if (exec.status !== "signaled") return t(`exec.${exec.status}`);
  return signaled(exec.signal, t);
}

function signaled(signal: number | null, t: TFunction<"chat">): string {
  const name = signal === null ? undefined : SIGNALS[signal];
  return t("exec.signaled", { signal: name ?? t("exec.signal", { number: signal ?? "?" }) });
}

function tone(exec: Exec): Tone {
  if (exec.sandbox_denied) return "bad";
  if (exec.status === "running") return "running";
  if (exec.status === "exited") return exec.exit_code === 0 ? "good" : "bad";
  return exec.status === "timed_out" || exec.status === "cancelled" ? "warn" : "bad";
}
