import { expect, test } from "vitest";
import { exec } from "../state/fixtures";
import { duration, execSummary, relativeTime } from "./format";

test("durations read like a person says them", () => {
  expect([0, 420, 1_234, 59_949, 59_980, 185_000, 7_440_000].map(duration)).toEqual([
    "0 ms",
    "420 ms",
    "1.2 s",
    "59.9 s",
    "1 min 0 s",
    "3 min 5 s",
    "2 h 4 min",
  ]);
});

test("ages are rounded down, and a clock ahead is now", () => {
  const minute = 60_000;
  expect([-5, 30_000, 5 * minute, 180 * minute, 1_500 * minute, 4_500 * minute].map((age) => relativeTime(0, age))).toEqual([
    "just now",
    "just now",
    "5 min ago",
    "3 h ago",
    "yesterday",
    "3 days ago",
  ]);
});

test("a status line says how, how long and where", () => {
  const ended = { status: "exited", exit_code: 0, duration_ms: 1_200 } as const;
  expect(execSummary(exec(ended))).toEqual({ text: "exit 0 · 1.2 s · on laptop", tone: "good" });
  expect(execSummary(exec())).toEqual({ text: "running · on laptop", tone: "running" });
  expect(execSummary(exec({ status: "signaled", signal: 9 })).text).toBe("killed by SIGKILL · on laptop");
  expect(execSummary(exec({ status: "timed_out", runner: "__docker__" })).text).toBe("timed out · on Docker container");
  expect(execSummary(exec({ ...ended, exit_code: 1, sandbox_denied: true })).text).toBe(
    "exit 1 · denied by the sandbox · 1.2 s · on laptop",
  );
});
