import { MoreHorizontal, Plus, X } from "lucide-react";
import { Tabs } from "radix-ui";
import { type KeyboardEvent, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { useActions, useAppState } from "../../state/context";
import { placeName } from "../../state/where";
import { onTarget } from "../open";
import { useActivePlace, useReadyPlace } from "../place";
import { CloseDialog } from "./CloseDialog";
import { NewMenu, OptionsMenu } from "./menus";
import { StatusLine } from "./StatusLine";
import { TerminalScreen } from "./TerminalScreen";
import type { TerminalView } from "./session";
import { terminals } from "./terminals";
import { classes } from "../../lib/classes";
import styles from "./terminal.module.css";
import panels from "../panels.module.css";
import marks from "../../kit/marks.module.css";

/** The terminals as tabs. They keep running while the panel is closed. */
export default function TerminalPanel() {
  const { t } = useTranslation("panels");
  const { me } = useAppState("me");
  const actions = useActions();
  const { tabs, active, preferences } = useSyncExternalStore(terminals.subscribe, terminals.snapshot);
  const place = useActivePlace();
  const ready = useReadyPlace();
  const wantsShell = useRef(false);
  const [closing, setClosing] = useState<TerminalView | null>(null);
  const list = useRef<HTMLDivElement>(null);
  const user = me?.name;

  useEffect(() => {
    if (user === undefined) return;
    terminals.belongTo(user);
    terminals.onLeave(() => list.current?.querySelector<HTMLElement>('[data-state="active"]')?.focus());
    return onTarget("terminal", ({ terminal, shell }) => {
      if (terminal !== undefined) terminals.adopt(terminal.exec_id, terminal.place);
      else if (shell) wantsShell.current = true;
    });
  }, [user]);
  useEffect(() => {
    if (!wantsShell.current || user === undefined || ready === null) return;
    wantsShell.current = false;
    if (terminals.snapshot().tabs.length === 0) terminals.open(ready);
  }, [user, ready]);

  const close = (view: TerminalView, isEnded: boolean) => {
    setClosing(null);
    terminals.close(view.exec_id, isEnded).catch(actions.report);
  };
  const askToClose = (view: TerminalView) => (view.state.kind === "ended" ? close(view, false) : setClosing(view));
  const current = tabs.find((tab) => tab.exec_id === active);

  return (
    <Tabs.Root
      className={styles.terminals}
      value={active ?? ""}
      onValueChange={(id) => terminals.select(id)}
      activationMode="manual"
    >
      <div className={styles.terminalBar}>
        <Tabs.List className={styles.terminalTabs} aria-label={t("term.tabs")} ref={list}>
          {tabs.map((tab, index) => (
            <Tab key={tab.exec_id} tab={tab} number={index + 1} isActive={tab.exec_id === active} onClose={() => askToClose(tab)} />
          ))}
        </Tabs.List>
        <NewMenu trigger={<BarButton label={t("term.new")} icon={Plus} />} activePlace={place} />
        <OptionsMenu
          trigger={<BarButton label={t("term.options")} icon={MoreHorizontal} />}
          preferences={preferences}
          current={current}
          onClose={askToClose}
        />
      </div>
      {current === undefined ? (
        <div className={panels.panelEmpty}>
          <p>{t("term.empty")}</p>
          <button type="button" className="primary" onClick={() => terminals.open(place)}>
            {place === null ? t("term.open") : t("term.openOn", { place: placeName(place) })}
          </button>
          <p className="hint">{t("term.goesOn")}</p>
        </div>
      ) : (
        <Tabs.Content className={styles.terminalContent} value={current.exec_id} tabIndex={-1} key={current.exec_id}>
          <TerminalScreen id={current.exec_id} />
          <StatusLine view={current} />
        </Tabs.Content>
      )}
      {closing !== null && (
        <CloseDialog
          view={closing}
          onEnd={() => close(closing, true)}
          onLeave={() => close(closing, false)}
          onKeep={() => setClosing(null)}
        />
      )}
    </Tabs.Root>
  );
}

function BarButton({ label, icon: Icon, ...rest }: { label: string; icon: typeof Plus }) {
  return (
    <button type="button" className="quiet icon" aria-label={label} title={label} {...rest}>
      <Icon aria-hidden="true" />
    </button>
  );
}

interface TabProps {
  tab: TerminalView;
  number: number;
  isActive: boolean;
  onClose: () => void;
}

function Tab({ tab, number, isActive, onClose }: TabProps) {
  const { t } = useTranslation("panels");
  const name = tab.place === null ? t("term.numbered", { number }) : placeName(tab.place);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Delete") onClose();
  };
  return (
    <Tabs.Trigger className={styles.terminalTab} value={tab.exec_id} title={tab.title} onKeyDown={onKeyDown}>
      <span className={classes(marks.dot, marks[dotOf(tab)], styles.state)} aria-hidden="true" />
      <span className={styles.name}>
        {name}
        {tab.title !== "" && <span className="hint"> {tab.title}</span>}
      </span>
      {!isActive && tab.has_rung && <span className={styles.rung} role="img" aria-label={t("term.rang")} />}
      <span className={styles.close} aria-hidden="true" title={t("term.closeByKey")} onPointerDown={(event) => event.stopPropagation()} onClick={onClose}>
        <X />
      </span>
    </Tabs.Trigger>
  );
}

function dotOf({ state }: TerminalView): string {
  if (state.kind === "open") return "online";
  return state.kind === "ended" ? "" : "unclear";
}
