/** How a command ended, in words. Pure. */
import type { TFunction } from "i18next";
import { duration, type Tone } from "../../lib/format";
import { placeName } from "../../state/where";
import type { Exec } from "../../types";

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

function outcome(exec: Exec, t: TFunction<"chat">): string {
  if (exec.status === "exited") return t("exec.exited", { code: exec.exit_code ?? "?" });
  if (exec.status !== "signaled") return t(`exec.${exec.status}`);
  const name = exec.signal === null ? undefined : SIGNALS[exec.signal];
  return t("exec.signaled", { signal: name ?? t("exec.signal", { number: exec.signal ?? "?" }) });
}

function tone(exec: Exec): Tone {
  if (exec.sandbox_denied) return "bad";
  if (exec.status === "running") return "running";
  if (exec.status === "exited") return exec.exit_code === 0 ? "good" : "bad";
  return exec.status === "timed_out" || exec.status === "cancelled" ? "warn" : "bad";
}
