import { expect, test } from "vitest";
import type { Automation } from "../types";
import { draftOf, emptyDraft, putOf } from "./draft";

const NEW = emptyDraft("Europe/Berlin");

test("a schedule has one time, and a zone if the time needs one", () => {
  const cron = { ...NEW, text: "hello", cron: " 0 9 * * 1-5 ", every: "1h", at: "2026-12-01T09:00" };
  const schedule = (draft: typeof NEW) => {
    const read = putOf(draft);
    return "put" in read ? read.put.automation.schedule : null;
  };
  expect(schedule(cron)).toEqual({ cron: "0 9 * * 1-5", zone: "Europe/Berlin" });
  expect(schedule({ ...cron, when: "every" })).toEqual({ every: "1h", zone: undefined });
  expect(schedule({ ...cron, when: "at", zone: " " })).toEqual({ at: "2026-12-01T09:00", zone: undefined });
});

test("a trigger's lines are events, conditions and values, and an invalid condition is reported", () => {
  const draft = { ...NEW, kind: "trigger" as const, text: "look", events: "push\n\n issues ", onlyIf: "/ref=a=b", fields: "/x" };
  expect(putOf(draft)).toMatchObject({
    put: { automation: { trigger: { from: "github", events: ["push", "issues"], only_if: [{ pointer: "/ref", equals: "a=b" }], fields: ["/x"] } } },
  });
  expect(putOf({ ...draft, onlyIf: "/ref=a\n/ref" })).toEqual({ line: "/ref" });
});

test("a draft of an existing automation is sent back unchanged", () => {
  const automation = {
    text: "look",
    trigger: { from: "slack" as const, events: ["app_mention"], only_if: [{ pointer: "/a", equals: "b" }], fields: ["/c", "/d"] },
    runner: "laptop",
    approval: "plan" as const,
    chats: "each" as const,
    overlap: "skip" as const,
  };
  const known: Automation = {
    name: "mentions",
    kind: "trigger",
    automation,
    state: "active",
    paused_because: null,
    next_at: null,
    chat_id: null,
    last_run: null,
    created_at: 0,
  };
  const read = putOf(draftOf(known, "UTC"));
  expect("put" in read && read.put.automation).toEqual(automation);
});
