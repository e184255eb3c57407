/**
 * The texts of the page. English is the source, with one file per folder of `src/`; every other language has the type of the
 * English texts, so that a missing or misspelt entry fails the build. A language other than English is loaded when it is chosen.
 */
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import * as en from "./en";
import type { Words } from "./words";

export const LANGUAGES = { en: "English", zh: "中文" } as const;
export type Language = keyof typeof LANGUAGES;

const KEY = "sandbridge.language";

declare module "i18next" {
  interface CustomTypeOptions {
    resources: typeof en;
    defaultNS: "frame";
  }
}

const LOADERS: Record<Exclude<Language, "en">, () => Promise<Words>> = {
  zh: () => import("./zh"),
};

/** The stored language, or else the first of the browser's languages that the page has, or else English. */
export function preferredLanguage(kept: string | null, browser: readonly string[]): Language {
  const known = Object.keys(LANGUAGES) as Language[];
  const wanted = [kept ?? "", ...browser.map((tag) => tag.split("-")[0] ?? "")];
  for (const tag of wanted) {
    const language = known.find((candidate) => candidate === tag);
    if (language !== undefined) return language;
  }
  return "en";
}

/** Makes `useTranslation` work; called once before the first render. */
export async function startLanguage(): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    resources: { en },
    defaultNS: "frame",
    // React already escapes what it shows.
    interpolation: { escapeValue: false },
    returnNull: false,
  });
  await showLanguage(preferredLanguage(window.localStorage.getItem(KEY), window.navigator.languages));
}

/** Shows a language and keeps the choice. */
export async function chooseLanguage(language: Language): Promise<void> {
  await showLanguage(language);
  window.localStorage.setItem(KEY, language);
}

async function showLanguage(language: Language): Promise<void> {
  if (language !== "en" && !i18next.hasResourceBundle(language, "frame")) {
    for (const [room, words] of Object.entries(await LOADERS[language]())) i18next.addResourceBundle(language, room, words);
  }
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
