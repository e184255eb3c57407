import { Monitor, Moon, Sun } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { chooseSize, chooseTheme, keptSize, keptTheme, type Size, SIZES, type Theme, THEMES } from "../lib/appearance";
import { Field } from "./parts";
import styles from "./settings.module.css";

const ICONS = { system: Monitor, light: Sun, dark: Moon };

export default function Appearance() {
  const { t } = useTranslation("settings");
  const [theme, setTheme] = useState(keptTheme);
  const [size, setSize] = useState(keptSize);
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
      <Field label={t("appearance.size")}>
        {(id) => (
          <select
            id={id}
            value={size}
            onChange={(event) => {
              chooseSize(event.target.value as Size);
              setSize(event.target.value as Size);
            }}
          >
            {SIZES.map((candidate) => (
              <option key={candidate} value={candidate}>
                {t(`appearance.sizes.${candidate}`)}
              </option>
            ))}
          </select>
        )}
      </Field>
    </>
  );
}
