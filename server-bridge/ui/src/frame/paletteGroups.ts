/** The entries of the command palette other than chats. */
import {
  CircleHelp,
  Languages,
  LogOut,
  type LucideIcon,
  MessageSquarePlus,
  Moon,
  Server,
  Sun,
  SunMoon,
} from "lucide-react";
import { useTranslation } from "react-i18next";
import { chooseLanguage, LANGUAGES, type Language } from "../i18n";
import { chooseTheme, type Theme, THEMES } from "../lib/appearance";
import { PANELS } from "../panels";
import { sectionsFor } from "../settings/sections";
import { useActions, useAppState } from "../state/context";
import { AUTOMATIC, options, placeName } from "../state/where";
import { useFrame } from "./context";

interface Item {
  name: string;
  note?: string;
  icon: LucideIcon;
  /** Additional words that the search matches. */
  words?: string[];
  run: () => void;
}

interface Group {
  heading: string;
  items: Item[];
}

const THEME_ICONS: Record<Theme, LucideIcon> = { system: SunMoon, light: Sun, dark: Moon };

export function usePaletteGroups(): Group[] {
  const { t } = useTranslation("frame");
  return [
    { heading: t("actions"), items: useActionItems() },
    { heading: t("runners"), items: useRunnerItems() },
    { heading: t("panels"), items: usePanelItems() },
    { heading: t("settings"), items: useSettingsItems() },
  ].filter((group) => group.items.length > 0);
}

function useActionItems(): Item[] {
  const { t, i18n } = useTranslation("frame");
  const actions = useActions();
  const { focusComposer, showOverlay } = useFrame();
  const languages = (Object.keys(LANGUAGES) as Language[]).filter((language) => language !== i18n.language);
  return [
    { name: t("newChat"), icon: MessageSquarePlus, run: () => void actions.newChat().then(focusComposer, actions.report) },
    ...THEMES.map((theme) => ({
      name: t(`themes.${theme}`),
      words: ["theme", "appearance"],
      icon: THEME_ICONS[theme],
      run: () => chooseTheme(theme),
    })),
    ...languages.map((language) => ({
      name: t("speak", { language: LANGUAGES[language] }),
      words: ["language", "语言"],
      icon: Languages,
      run: () => void chooseLanguage(language).catch(actions.report),
    })),
    { name: t("shortcuts.title"), icon: CircleHelp, run: () => showOverlay("shortcuts") },
    { name: t("signOut"), icon: LogOut, run: () => void actions.logout().catch(actions.report) },
  ];
}

function useRunnerItems(): Item[] {
  const { t } = useTranslation("frame");
  const { t: where } = useTranslation("where");
  const { settings, runners } = useAppState("settings", "runners");
  const actions = useActions();
  if (settings === null) return [];
  const activate = async (value: string) => {
    const warning = await actions.setActiveRunner(value === AUTOMATIC ? null : value);
    if (warning !== null) actions.warn(warning);
  };
  const active = settings.active_runner ?? AUTOMATIC;
  return options(settings, runners, settings.active_runner)
    .filter((option) => option.value !== active && option.kind !== "gone")
    .map((option) => ({
      name: t("useRunner", { name: option.kind === "automatic" ? where("automatic") : placeName(option.value) }),
      note: option.kind === "automatic" ? undefined : where(option.state),
      words: ["runner"],
      icon: Server,
      run: () => void activate(option.value).catch(actions.report),
    }));
}

function usePanelItems(): Item[] {
  const { t } = useTranslation("panels");
  const { showPanel } = useFrame();
  return PANELS.map(({ id, icon }) => ({ name: t(id), icon, words: ["panel"], run: () => showPanel(id) }));
}

function useSettingsItems(): Item[] {
  const { t } = useTranslation("settings");
  const { me } = useAppState("me");
  const { openSettings } = useFrame();
  return sectionsFor(me?.admin ?? false).map(({ id, icon }) => ({
    name: t(`sections.${id}`),
    icon,
    words: ["settings", t("title")],
    run: () => openSettings(id),
  }));
}
