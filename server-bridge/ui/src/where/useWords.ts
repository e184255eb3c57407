/** Places and times in the words of the chosen language. */
import { useTranslation } from "react-i18next";
import type { Runner } from "../types";

/** A place's name as people read it. */
export function usePlaceName(): (name: string) => string {
  const { t } = useTranslation("where");
  return (name) => (name === "__docker__" ? t("docker") : name === "none" ? t("server") : name);
}

/** "linux · x86_64 · laptop.local", as far as the machine said. */
export function machine(runner: Runner): string {
  return [runner.hostname, runner.os, runner.arch].filter((part) => part !== null).join(" · ");
}
