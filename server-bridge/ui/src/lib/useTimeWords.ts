/** Times and numbers in the chosen language. */
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** For example "now", "5 minutes ago", "yesterday", "3 days ago"; a clock slightly ahead counts as now. */
export function relativeWords(at: number, now: number, language: string): string {
  const words = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const age = Math.max(0, now - at);
  if (age < MINUTE_MS) return words.format(0, "second");
  if (age < HOUR_MS) return words.format(-Math.floor(age / MINUTE_MS), "minute");
  if (age < DAY_MS) return words.format(-Math.floor(age / HOUR_MS), "hour");
  return words.format(-Math.floor(age / DAY_MS), "day");
}

export function useTimeWords() {
  const { i18n } = useTranslation();
  const { language } = i18n;
  return useMemo(
    () => ({
      relative: (at: number, now: number) => relativeWords(at, now, language),
      absolute: (at: number) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" }),
      /** For example "1,234", or "1.2K" with `compact`. */
      figure: (value: number, compact = false) =>
        new Intl.NumberFormat(language, compact ? { notation: "compact", maximumFractionDigits: 1 } : {}).format(value),
      /** Millionths of a US dollar as "$0.0123": cents are too coarse for a single answer. */
      cost: (micros: number) =>
        new Intl.NumberFormat(language, {
          style: "currency",
          currency: "USD",
          currencyDisplay: "narrowSymbol",
          maximumFractionDigits: micros !== 0 && Math.abs(micros) < 1_000_000 ? 4 : 2,
        }).format(micros / 1_000_000),
    }),
    [language],
  );
}
