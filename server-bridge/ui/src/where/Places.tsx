import { DropdownMenu } from "radix-ui";
import { Check } from "lucide-react";
import { useTranslation } from "react-i18next";
import { type Option, placeName } from "../state/where";
import marks from "../kit/marks.module.css";
import { classes } from "../lib/classes";
import { machine } from "./machine";
import styles from "./where.module.css";
import menus from "../kit/Menu.module.css";

interface Props {
  options: Option[];
  value: string;
  /** The place that "automatic" currently means. */
  automatic: string;
  onChoose: (value: string) => void;
}

/** The places to choose from in a menu, each with its state, machine and profile. */
export function Places({ options, value, automatic, onChoose }: Props) {
  const { t } = useTranslation("where");
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onChoose}>
      {options.map((option) => (
        <DropdownMenu.RadioItem
          key={option.value}
          value={option.value}
          className={`${menus.menuItem} ${styles.place}`}
          data-state-of-place={option.state}
          aria-label={`${option.kind === "automatic" ? t("automatic") : placeName(option.value)}${option.state === "online" ? "" : `, ${t(option.state)}`}`}
        >
          <span className={classes(marks.dot, option.kind === "automatic" ? marks.none : marks[option.state])} aria-hidden="true" />
          <span className={styles.placeName}>{option.kind === "automatic" ? t("automatic") : placeName(option.value)}</span>
          {option.runner?.profile && <span className={styles.whereProfile}>{option.runner.profile}</span>}
          <DropdownMenu.ItemIndicator className={styles.placeCheck}>
            <Check aria-hidden="true" />
          </DropdownMenu.ItemIndicator>
          <Details option={option} automatic={automatic} />
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

function Details({ option, automatic }: { option: Option; automatic: string }) {
  const { t } = useTranslation("where");
  const lines: { text: string; warns: boolean }[] = [];
  if (option.kind === "automatic") lines.push({ text: automatic, warns: false });
  if (option.kind === "gone") lines.push({ text: t("hints.gone"), warns: true });
  if (option.runner !== null) {
    const facts = machine(option.runner);
    if (facts !== "") lines.push({ text: facts, warns: false });
    if (option.runner.update !== null) {
      const { version, update } = option.runner;
      lines.push({ text: t("hints.older", { version: version ?? "", newer: update.version }), warns: false });
    }
    if (option.runner.online && option.state === "refused") {
      lines.push({ text: t("hints.refused", { layers: option.runner.refused.join(", ") }), warns: true });
    }
  }
  if (option.kind === "runner" && option.state === "offline") lines.push({ text: t("offline"), warns: true });
  if ((option.kind === "docker" || option.kind === "server") && option.state !== "online") {
    lines.push({ text: option.note ?? t("hints.unavailable"), warns: true });
  }
  return lines.map(({ text, warns }) => (
    <span key={text} className={warns ? `${styles.placeLine} ${styles.warns}` : styles.placeLine}>
      {text}
    </span>
  ));
}
