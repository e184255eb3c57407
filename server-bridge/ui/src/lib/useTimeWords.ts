/** Times and numbers in the chosen language. */
import { useMemo } from "react";
import { useTranslation } from "react-i18next";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * A time relative to now, such as "now", "5 minutes ago", "yesterday" or "in 3 days". Rounded towards now, so that less than a
 * minute, either way, is "now".
 */
export function relativeWords(at: number, now: number, language: string): string {
  const words = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  const ahead = at - now;
  const distance = Math.abs(ahead);
  const rounded = (unit: number) => Math.trunc(ahead / unit);
  if (distance < MINUTE_MS) return words.format(0, "second");
  if (distance < HOUR_MS) return words.format(rounded(MINUTE_MS), "minute");
  if (distance < DAY_MS) return words.format(rounded(HOUR_MS), "hour");
  return words.format(rounded(DAY_MS), "day");
}

export function useTimeWords() {
  const { i18n } = useTranslation();
  const { language } = i18n;
  return useMemo(
    () => ({
      /** For a past time. If the server's clock is ahead of this one, the text is "now". */
      relative: (at: number, now: number) => relativeWords(Math.min(at, now), now, language),
      /** For a future time; "now" once it has passed. */
      until: (at: number, now: number) => relativeWords(Math.max(at, now), now, language),
      absolute: (at: number) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "short" }),
      /** A date and a time with seconds. */
      second: (at: number) => new Date(at).toLocaleString(language, { dateStyle: "medium", timeStyle: "medium" }),
      /** A number such as "1,234", or "1.2K" with `compact`. */
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
