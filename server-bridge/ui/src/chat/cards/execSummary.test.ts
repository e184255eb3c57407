import i18next from "i18next";
import { expect, test } from "vitest";
import * as en from "../../i18n/en";
import { exec } from "../../state/fixtures";
import type { Exec } from "../../types";
import { execSummary } from "./execSummary";

const words = i18next.createInstance({ lng: "en", resources: { en }, interpolation: { escapeValue: false } });
await words.init();
const summary = (change: Partial<Exec>) => execSummary(exec(change), words.getFixedT("en", "chat"));

test("a status line names the outcome, the duration and the machine", () => {
  const ended = { status: "exited", exit_code: 0, duration_ms: 1_200 } as const;
  expect(summary(ended)).toEqual({ text: "exit 0 · 1.2 s · on laptop", tone: "good" });
  expect(summary({})).toEqual({ text: "running · on laptop", tone: "running" });
  expect(summary({ status: "signaled", signal: 9 }).text).toBe("killed by SIGKILL · on laptop");
  expect(summary({ status: "timed_out", runner: "__docker__" }).text).toBe("timed out · on the Docker container");
  expect(summary({ ...ended, exit_code: 1, sandbox_denied: true }).text).toBe(
    "exit 1 · denied by the sandbox · 1.2 s · on laptop",
  );
});
