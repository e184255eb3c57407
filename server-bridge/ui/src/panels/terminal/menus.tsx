import { DropdownMenu } from "radix-ui";
import { type ReactNode, useState } from "react";
import { useTranslation } from "react-i18next";
import { MenuPortal } from "../../kit/MenuPortal";
import { useAppState } from "../../state/context";
import { AUTOMATIC, options, placeName } from "../../state/where";
import { type ExecView, execs } from "../requests";
import type { Preferences } from "./preferences";
import type { TerminalView } from "./session";
import { terminals } from "./terminals";
import menus from "../../kit/Menu.module.css";
import panels from "../panels.module.css";

/** A menu of places for a new terminal, and of running terminals that this window does not show. */
export function NewMenu({ trigger, activePlace }: { trigger: ReactNode; activePlace: string | null }) {
  const { t } = useTranslation("panels");
  const { settings, runners } = useAppState("settings", "runners");
  const [running, setRunning] = useState<ExecView[]>([]);
  const look = (isOpen: boolean) => {
    if (!isOpen) return;
    // Optional: if the request fails, running terminals are not offered.
    execs.running().then(
      (found) => setRunning(found.filter((exec) => exec.terminal && terminals.find(exec.exec_id) === undefined)),
      () => setRunning([]),
    );
  };
  const places = settings === null ? [] : options(settings, runners, null).filter((option) => option.value !== AUTOMATIC);
  return (
    <DropdownMenu.Root modal={false} onOpenChange={look}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <MenuPortal>
        <DropdownMenu.Content className={menus.menu} align="end" sideOffset={4}>
          {terminals.isFull && <DropdownMenu.Label className={panels.label}>{t("term.full")}</DropdownMenu.Label>}
          {activePlace === null && (
            <DropdownMenu.Item className={menus.menuItem} disabled={terminals.isFull} onSelect={() => terminals.open(null)}>
              {t("term.open")}
            </DropdownMenu.Item>
          )}
          {places.map(({ value, state }) => (
            <DropdownMenu.Item
              key={value}
              className={menus.menuItem}
              disabled={terminals.isFull || state === "offline"}
              onSelect={() => terminals.open(value)}
            >
              {value === activePlace ? t("term.openActive", { place: placeName(value) }) : t("term.openOn", { place: placeName(value) })}
            </DropdownMenu.Item>
          ))}
          {running.length > 0 && <DropdownMenu.Label className={panels.label}>{t("term.elsewhere")}</DropdownMenu.Label>}
          {running.map((exec) => (
            <DropdownMenu.Item
              key={exec.exec_id}
              className={menus.menuItem}
              disabled={terminals.isFull}
              onSelect={() => terminals.adopt(exec.exec_id, exec.runner)}
            >
              {t("term.showRunning", {
                place: placeName(exec.runner ?? ""),
                time: new Date(exec.started_at).toLocaleTimeString(undefined, { timeStyle: "short" }),
              })}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </MenuPortal>
    </DropdownMenu.Root>
  );
}

interface OptionsProps {
  trigger: ReactNode;
  preferences: Preferences;
  current: TerminalView | undefined;
  onClose: (view: TerminalView) => void;
}

export function OptionsMenu({ trigger, preferences, current, onClose }: OptionsProps) {
  const { t } = useTranslation("panels");
  const resize = (event: Event, step: number) => {
    // Keeps the menu open for another step.
    event.preventDefault();
    terminals.prefer({ font_px: preferences.font_px + step });
  };
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <MenuPortal>
        <DropdownMenu.Content className={menus.menu} align="end" sideOffset={4}>
          <DropdownMenu.Item className={menus.menuItem} onSelect={(event) => resize(event, 1)}>
            {t("term.larger")} <span className="hint">{preferences.font_px} px</span>
          </DropdownMenu.Item>
          <DropdownMenu.Item className={menus.menuItem} onSelect={(event) => resize(event, -1)}>
            {t("term.smaller")}
          </DropdownMenu.Item>
          <DropdownMenu.CheckboxItem
            className={menus.menuItem}
            checked={preferences.screen_reader}
            onCheckedChange={(isOn) => terminals.prefer({ screen_reader: isOn })}
          >
            {t("term.screenReader")} <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
          </DropdownMenu.CheckboxItem>
          {current !== undefined && (
            <>
              <DropdownMenu.Item className={menus.menuItem} onSelect={() => terminals.find(current.exec_id)?.screen.clear()}>
                {t("term.clear")}
              </DropdownMenu.Item>
              <DropdownMenu.Item className={`${menus.menuItem} danger`} onSelect={() => onClose(current)}>
                {t("term.close")}
              </DropdownMenu.Item>
            </>
          )}
          <DropdownMenu.Label className={panels.label}>{t("term.shortcuts")}</DropdownMenu.Label>
        </DropdownMenu.Content>
      </MenuPortal>
    </DropdownMenu.Root>
  );
}
