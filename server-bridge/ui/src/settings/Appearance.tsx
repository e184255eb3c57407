import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { chooseTheme, keptTheme, type Theme, THEMES } from "../lib/appearance";
import { LanguageField } from "./LanguageField";
import styles from "./settings.module.css";

const ICONS = { system: Monitor, light: Sun, dark: Moon };

export default function Appearance() {
  const { t } = useTranslation("settings");
  const [theme, setTheme] = useState(keptTheme);
  const choose = (wanted: Theme) => {
    chooseTheme(wanted);
    setTheme(wanted);
  };
  return (
    <>
      <fieldset className={styles.themes}>
        <legend>{t("appearance.theme")}</legend>
        {THEMES.map((candidate) => {
          const Icon = ICONS[candidate];
          return (
            <label key={candidate}>
              <input type="radio" name="theme" checked={theme === candidate} onChange={() => choose(candidate)} />
              <Icon aria-hidden="true" />
              {t(`appearance.${candidate}`)}
            </label>
          );
        })}
      </fieldset>
      <LanguageField />
    </>
  );
}
