/** Where the next command runs: the routing rules of the server, told in words. Pure. */
import type { Choice, Runner, Settings } from "../types";

/** The value that stands for "unset" in a form; the server reserves the name. */
export const AUTOMATIC = "auto";

const GONE = "No longer there: choose another.";

/** A machine's name as people read it. */
export function placeName(name: string): string {
  if (name === "__docker__") return "Docker container";
  if (name === "none") return "this server";
  return name;
}

export interface Where {
  state: "online" | "offline" | "unclear";
  /** Said beside the picker: what stands in the way, or what "automatic" means now. */
  hint: string | null;
}

export interface Option {
  value: string;
  label: string;
  state: Where["state"];
  note: string | null;
}

/** What can be chosen, "automatic" first; a choice that is stored but gone is shown as such. */
export function options(settings: Settings): Option[] {
  const automatic: Option = {
    value: AUTOMATIC,
    label: "Automatic",
    state: "online",
    note: "Your only runner; without any, the Docker container where the server offers it.",
  };
  const listed = settings.choices.filter((choice) => choice.name !== AUTOMATIC).map(optionOf);
  const active = settings.active_runner;
  const gone = active !== null && active !== AUTOMATIC && !listed.some((option) => option.value === active);
  if (gone) listed.push({ value: active, label: placeName(active), state: "offline", note: GONE });
  return [automatic, ...listed];
}

function optionOf(choice: Choice): Option {
  const ready = choice.available && (choice.kind !== "runner" || choice.online);
  return {
    value: choice.name,
    label: placeName(choice.name),
    state: ready ? "online" : "offline",
    note: choice.note ?? (ready ? null : choice.kind === "runner" ? "Offline." : "Not available."),
  };
}

/** The state of the active choice. */
export function where(settings: Settings, runners: Runner[]): Where {
  const active = settings.active_runner;
  if (active === null || active === AUTOMATIC) return whereAutomatic(settings, runners);
  const choice = settings.choices.find((candidate) => candidate.name === active);
  if (choice === undefined) return { state: "offline", hint: GONE };
  return { state: optionOf(choice).state, hint: choice.note };
}

function whereAutomatic(settings: Settings, runners: Runner[]): Where {
  const only = runners[0];
  if (only === undefined) {
    const docker = settings.choices.find((choice) => choice.kind === "docker");
    if (docker?.available) return { state: "online", hint: "Docker container" };
    return { state: "unclear", hint: "No runner connected yet." };
  }
  if (runners.length > 1) return { state: "unclear", hint: "You have several runners: choose one." };
  return { state: only.online ? "online" : "offline", hint: only.online ? only.name : `${only.name} is offline.` };
}
