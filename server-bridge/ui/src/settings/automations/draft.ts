/** The fields of the form for automations, and their conversion to the server's document. */
import type { Automation, AutomationDraft, AutomationPut } from "../types";

export type Kind = "schedule" | "trigger";
export type When = "cron" | "every" | "at";

export interface Draft {
  kind: Kind;
  name: string;
  text: string;
  when: When;
  cron: string;
  every: string;
  at: string;
  zone: string;
  missed: NonNullable<AutomationDraft["missed"]>;
  from: NonNullable<AutomationDraft["trigger"]>["from"];
  secret: string;
  events: string;
  onlyIf: string;
  fields: string;
  runner: string;
  /** Empty for the default. */
  approval: AutomationDraft["approval"] | "";
  chats: NonNullable<AutomationDraft["chats"]>;
  /** Empty for the default. */
  overlap: AutomationDraft["overlap"] | "";
}

export function emptyDraft(zone: string): Draft {
  return {
    kind: "schedule",
    name: "",
    text: "",
    when: "cron",
    cron: "",
    every: "",
    at: "",
    zone,
    missed: "once",
    from: "github",
    secret: "",
    events: "",
    onlyIf: "",
    fields: "",
    runner: "",
    approval: "",
    chats: "one",
    overlap: "",
  };
}

/** The fields of an existing automation. */
export function draftOf({ name, kind, automation }: Automation, zone: string): Draft {
  const { text, schedule, trigger, runner, approval, chats, missed, overlap } = automation;
  const lines = (all: readonly string[] | undefined) => (all ?? []).join("\n");
  return {
    ...emptyDraft(zone),
    kind,
    name,
    text,
    when: schedule?.every ? "every" : schedule?.at ? "at" : "cron",
    cron: schedule?.cron ?? "",
    every: schedule?.every ?? "",
    at: schedule?.at ?? "",
    zone: schedule === undefined || schedule === null ? zone : (schedule.zone ?? "UTC"),
    missed: missed ?? "once",
    from: trigger?.from ?? "github",
    events: lines(trigger?.events),
    onlyIf: lines(trigger?.only_if?.map(({ pointer, equals }) => `${pointer}=${equals}`)),
    fields: lines(trigger?.fields),
    runner: runner ?? "",
    approval: approval ?? "",
    chats: chats ?? "one",
    overlap: overlap ?? "",
  };
}

/** The server's document, or the first invalid condition; the server checks the rest. */
export function putOf(draft: Draft): { put: AutomationPut } | { line: string } {
  const lines = (text: string) => text.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  const conditions = lines(draft.onlyIf);
  const bad = conditions.find((line) => !line.includes("="));
  if (draft.kind === "trigger" && bad !== undefined) return { line: bad };
  const common = {
    text: draft.text,
    runner: draft.runner.trim() || undefined,
    approval: draft.approval || undefined,
    chats: draft.chats,
    overlap: draft.overlap || undefined,
  };
  if (draft.kind === "trigger") {
    const condition = (line: string) => ({ pointer: line.slice(0, line.indexOf("=")), equals: line.slice(line.indexOf("=") + 1) });
    const trigger = { from: draft.from, events: lines(draft.events), only_if: conditions.map(condition), fields: lines(draft.fields) };
    return { put: { automation: { ...common, trigger }, secret: draft.secret || undefined } };
  }
  const time = { [draft.when]: draft[draft.when].trim() };
  const zone = draft.when === "every" ? undefined : draft.zone.trim() || undefined;
  return { put: { automation: { ...common, schedule: { ...time, zone }, missed: draft.missed } } };
}
