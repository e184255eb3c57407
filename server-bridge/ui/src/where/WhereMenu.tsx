import { DropdownMenu } from "radix-ui";
import { ChevronDown, Pin } from "lucide-react";
import type { ComponentProps } from "react";
import { useTranslation } from "react-i18next";
import { useFrame } from "../frame/context";
import { useActions, useAppState, useSelected } from "../state/context";
import { openChatOf } from "../state/state";
import { AUTOMATIC, options, placeName, type Where, where } from "../state/where";
import { MenuPortal } from "../kit/MenuPortal";
import { Places } from "./Places";
import { useDockerState } from "./useDockerState";
import { classes } from "../lib/classes";
import styles from "./where.module.css";
import menus from "../kit/Menu.module.css";
import marks from "../kit/marks.module.css";

/** Shows the place where the next command runs, with a menu to change it. */
export function WhereMenu() {
  const { t } = useTranslation("where");
  const { settings, runners } = useAppState("settings", "runners");
  const actions = useActions();
  const { openSettings } = useFrame();
  const chat = useSelected(openChatOf);
  const bound = chat?.runner ?? null;
  const now = settings && where(settings, runners, bound);
  useDockerState(now?.state === "pulling");
  if (settings === null || now === null) return <div className={styles.where} aria-busy="true" />;

  const activate = async (value: string) => {
    try {
      const warning = await actions.setActiveRunner(value === AUTOMATIC ? null : value);
      if (warning !== null) actions.warn(warning);
    } catch (error) {
      actions.report(error);
    }
  };
  const bind = (value: string) => {
    if (chat === null || value === (bound ?? AUTOMATIC)) return;
    actions
      .bindChat(chat.id, value === AUTOMATIC ? null : value)
      .then((warning) => warning !== null && actions.warn(warning))
      .catch(actions.report);
  };
  return (
    <div className={styles.where} data-testid="where" data-state={now.state}>
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger asChild>
          <WhereButton now={now} />
        </DropdownMenu.Trigger>
        <MenuPortal>
          <DropdownMenu.Content className={`${menus.menu} ${styles.places}`} align="start" sideOffset={6} collisionPadding={8}>
            <DropdownMenu.Label className={menus.menuLabel}>{t("activeRunner")}</DropdownMenu.Label>
            <Places
              options={options(settings, runners, settings.active_runner)}
              value={settings.active_runner ?? AUTOMATIC}
              automatic={t("automaticNote")}
              onChoose={(value) => void activate(value)}
            />
            {chat !== null && (
              <DropdownMenu.Sub>
                <DropdownMenu.SubTrigger className={`${menus.menuItem} ${styles.sub}`}>
                  <Pin aria-hidden="true" />
                  {t("thisChat")}
                  <ChevronDown aria-hidden="true" className={styles.turn} />
                </DropdownMenu.SubTrigger>
                <MenuPortal>
                  <DropdownMenu.SubContent className={`${menus.menu} ${styles.places}`} collisionPadding={8}>
                    <Places
                      options={options(settings, runners, bound)}
                      value={bound ?? AUTOMATIC}
                      automatic={t("followNote")}
                      onChoose={bind}
                    />
                  </DropdownMenu.SubContent>
                </MenuPortal>
              </DropdownMenu.Sub>
            )}
            <DropdownMenu.Separator className={menus.menuLine} />
            <DropdownMenu.Item className={menus.menuItem} onSelect={() => openSettings("runners")}>
              {t("manage")}
            </DropdownMenu.Item>
          </DropdownMenu.Content>
        </MenuPortal>
      </DropdownMenu.Root>
      <Reason now={now} />
    </div>
  );
}

function WhereButton({ now, ...trigger }: { now: Where } & ComponentProps<"button">) {
  const { t } = useTranslation("where");
  const { runners } = useAppState("runners");
  const place = now.place === null ? t("undecided") : placeName(now.place);
  const profile = runners.find((runner) => runner.name === now.place)?.profile;
  return (
    <button
      type="button"
      {...trigger}
      className={styles.whereButton}
      title={now.by === "chat" ? t("bound") : t("activeRunner")}
    >
      <span className="unseen">{t("activeRunner")}:</span>
      <span className={classes(marks.dot, marks[now.state])} aria-hidden="true" />
      {now.by === "chat" && <Pin aria-hidden="true" />}
      <span className={styles.whereName}>{place}</span>
      {profile && <span className={styles.whereProfile}>{profile}</span>}
      {now.place !== null && <span className="unseen">{t(now.state)}</span>}
      <ChevronDown aria-hidden="true" />
    </button>
  );
}

/** The obstacle to the next command, if any. */
function Reason({ now }: { now: Where }) {
  const { t } = useTranslation("where");
  const { runners } = useAppState("runners");
  const { openSettings } = useFrame();
  if (now.hint === null) return null;
  if (now.hint === "noRunner") {
    return (
      <button type="button" className={styles.whereCall} onClick={() => openSettings("runners")}>
        {t("connect")}
      </button>
    );
  }
  const layers = runners.find((runner) => runner.name === now.place)?.refused.join(", ") ?? "";
  // A pull's progress is the server's text.
  const said = (now.hint === "pulling" && now.note) || t(`hints.${now.hint}`, { layers });
  return (
    <span className={styles.whereReason} title={now.note ?? said}>
      {said}
    </span>
  );
}

