/** Where the next command runs: the routing rules of the server. Pure; the texts are in `i18n`, under `where`. */
import i18next from "i18next";
import { where as words } from "../i18n/en/where";
import type { Choice, Runner, Settings } from "../types";

/** The value that stands for "unset" in a form; the server reserves the name. */
export const AUTOMATIC = "auto";

const DOCKER = "__docker__";
const NONE = "none";

/** A machine's display name, in the language of the page. */
export function placeName(name: string): string {
  const said = (key: "docker" | "server") => (i18next.isInitialized ? i18next.t(key, { ns: "where" }) : words[key]);
  if (name === DOCKER) return said("docker");
  return name === NONE ? said("server") : name;
}

/** True if the place is a registered machine that is offline; its commands wait until it is back. */
export function isAway(runners: Runner[], place: string | null): boolean {
  return runners.some((runner) => runner.name === place && !runner.online);
}

/**
 * `refused`: connected, but without a layer of confinement that the server requires. `pulling`: Docker's image is not there yet, so
 * commands wait until it is pulled.
 */
export type PlaceState = "online" | "offline" | "refused" | "pulling" | "unclear";

export interface Where {
  /** The place's name; null where nothing is decided. */
  place: string | null;
  /** The source of the choice: this chat, the user's choice, or nothing, so that the server chooses. */
  by: "chat" | "choice" | "server";
  state: PlaceState;
  /** The reason why nothing can run at the place, or why no place is chosen; null if there is no obstacle. */
  hint: "gone" | "noRunner" | "several" | "offline" | "refused" | "pulling" | "unavailable" | null;
  /** The server's explanation of the obstacle, if it gave one. */
  note: string | null;
}

export interface Option {
  value: string;
  kind: "automatic" | "runner" | "docker" | "server" | "gone";
  state: PlaceState;
  note: string | null;
  /** The registered machine; null for other places. */
  runner: Runner | null;
}

/** The possible choices, "automatic" first; a stored choice that no longer exists is marked as such. */
export function options(settings: Settings, runners: Runner[], chosen: string | null): Option[] {
  const automatic: Option = { value: AUTOMATIC, kind: "automatic", state: "online", note: null, runner: null };
  // A place that this server does not offer is listed only if it was chosen before.
  const offered = settings.choices.filter((choice) => choice.kind === "runner" || isOffered(choice) || choice.name === chosen);
  const listed = offered.map((choice) => optionOf(choice, runners));
  const gone = chosen !== null && chosen !== AUTOMATIC && !listed.some((option) => option.value === chosen);
  if (gone) listed.push({ value: chosen, kind: "gone", state: "offline", note: null, runner: null });
  return [automatic, ...listed];
}

/** True if a command runs at a place, perhaps after an image was pulled. */
export function isOffered(choice: Choice): boolean {
  return choice.available || (choice.kind === "docker" && choice.online);
}

/** True if Docker can be chosen, and its image is not there yet. */
export function isPulling(choice: Choice): boolean {
  return isOffered(choice) && !choice.available;
}

function optionOf(choice: Choice, runners: Runner[]): Option {
  const runner = runners.find((candidate) => choice.kind === "runner" && candidate.name === choice.name) ?? null;
  const kind = choice.kind === "none" ? "server" : choice.kind;
  return { value: choice.name, kind, state: stateOf(choice, runner), note: choice.note, runner };
}

function stateOf(choice: Choice, runner: Runner | null): PlaceState {
  if (choice.kind !== "runner") return choice.available ? "online" : isPulling(choice) ? "pulling" : "offline";
  if (!choice.online) return "offline";
  return (runner?.refused.length ?? 0) > 0 ? "refused" : choice.available ? "online" : "offline";
}

/** The destination of the next command; `bound` is the open chat's binding, which has precedence over the user's choice. */
export function where(settings: Settings, runners: Runner[], bound: string | null): Where {
  const chosen = bound ?? settings.active_runner;
  if (chosen === null || chosen === AUTOMATIC) return whereAutomatic(settings, runners);
  const by = bound === null ? "choice" : "chat";
  const choice = settings.choices.find((candidate) => candidate.name === chosen);
  if (choice === undefined) return { place: chosen, by, state: "offline", hint: "gone", note: null };
  return { place: chosen, by, ...standing(choice, runners) };
}

function standing(choice: Choice, runners: Runner[]): Pick<Where, "state" | "hint" | "note"> {
  const { state } = optionOf(choice, runners);
  if (state === "online") return { state, hint: null, note: null };
  if (state === "refused") return { state, hint: "refused", note: null };
  if (state === "pulling") return { state, hint: "pulling", note: choice.note };
  const hint = choice.kind === "runner" && !choice.online ? "offline" : "unavailable";
  return { state, hint, note: choice.note };
}

function whereAutomatic(settings: Settings, runners: Runner[]): Where {
  const by = "server";
  const [only] = runners;
  if (only === undefined) {
    const docker = settings.choices.find((choice) => choice.kind === "docker");
    if (docker !== undefined && isOffered(docker)) return { place: docker.name, by, ...standing(docker, runners) };
    return { place: null, by, state: "unclear", hint: "noRunner", note: null };
  }
  if (runners.length > 1) return { place: null, by, state: "unclear", hint: "several", note: null };
  const choice = { name: only.name, kind: "runner" as const, online: only.online, available: true, note: null };
  return { place: only.name, by, ...standing(choice, runners) };
}
