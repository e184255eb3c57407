import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useNow } from "../../lib/useNow";
import { useTimeWords } from "../../lib/useTimeWords";
import { useRequests } from "../requests";
import type { Automation, AutomationSaved } from "../types";
import { Runs } from "./Runs";
import styles from "../settings.module.css";

interface Props {
  automation: Automation;
  /** Runs a request, and then reloads all automations. */
  act: (work: () => Promise<AutomationSaved | void>) => void;
  onEdit: () => void;
}

const BADGES = { active: marks.holds, paused: marks.lacks, ended: undefined };

export function AutomationCard({ automation, act, onEdit }: Props) {
  const { t } = useTranslation("settings");
  const { until, absolute } = useTimeWords();
  const now = useNow();
  const requests = useRequests();
  const [open, setOpen] = useState(false);
  const { name, kind, state, paused_because, next_at, chat_id } = automation;
  const { text, approval } = automation.automation;
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {name} <span className={marks.badge}>{t(`automations.kinds.${kind}`)}</span>{" "}
          <span className={classes(marks.badge, BADGES[state])}>{t(`automations.states.${state}`)}</span>
        </h4>
        {next_at !== null && (
          <span className="hint" title={absolute(next_at)}>
            {t("automations.next", { when: until(next_at, now) })}
          </span>
        )}
      </header>
      <p className={styles.asWritten}>{text}</p>
      <p className="hint">
        <Started automation={automation} />
        {approval && <> · {t("automations.modes", { mode: t(`approvals.modes.${approval}`) })}</>}
      </p>
      {paused_because !== null && <p className="caution">{t("automations.pausedBecause", { why: paused_because })}</p>}
      <div className={styles.formEnd}>
        {kind === "schedule" && (
          <button type="button" aria-label={t("automations.runName", { name })} onClick={() => act(async () => void (await requests.startAutomation(name, null)))}>
            {t("automations.run")}
          </button>
        )}
        {state === "paused" ? (
          <button type="button" aria-label={t("automations.resumeName", { name })} onClick={() => act(async () => void (await requests.pauseAutomation(name, false)))}>
            {t("automations.resume")}
          </button>
        ) : (
          state === "active" && (
            <button type="button" aria-label={t("automations.pauseName", { name })} onClick={() => act(async () => void (await requests.pauseAutomation(name, true)))}>
              {t("automations.pause")}
            </button>
          )
        )}
        <button type="button" aria-label={t("automations.editName", { name })} onClick={onEdit}>
          {t("automations.edit")}
        </button>
        {kind === "trigger" && (
          <ConfirmButton
            label={t("automations.address")}
            name={t("automations.addressName", { name })}
            question={t("automations.addressQuestion", { name })}
            confirmLabel={t("automations.address")}
            onConfirm={() => act(() => requests.newAutomationAddress(name))}
          />
        )}
        <ConfirmButton
          label={t("remove")}
          name={t("automations.removeName", { name })}
          question={t("automations.removeQuestion", { name })}
          confirmLabel={t("remove")}
          onConfirm={() => act(() => requests.removeAutomation(name))}
        />
        {chat_id !== null && (
          <a href={`#/chats/${chat_id}`} aria-label={t("automations.chatName", { name })}>
            {t("automations.chat")}
          </a>
        )}
      </div>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{t("automations.runs")}</summary>
        {open && <Runs name={name} revision={`${automation.last_run?.id} ${automation.last_run?.outcome}`} act={act} />}
      </details>
    </li>
  );
}

function Started({ automation: { automation } }: { automation: Automation }) {
  const { t } = useTranslation("settings");
  const { schedule, trigger } = automation;
  if (trigger) {
    const events = trigger.events?.length ? trigger.events.join(", ") : t("automations.started.anyEvent");
    return <>{t("automations.started.trigger", { from: trigger.from, events })}</>;
  }
  const zone = schedule?.zone ?? "UTC";
  if (schedule?.every) return <>{t("automations.started.every", { every: schedule.every })}</>;
  if (schedule?.at) return <>{t("automations.started.at", { at: schedule.at, zone })}</>;
  return <>{t("automations.started.cron", { cron: schedule?.cron ?? "", zone })}</>;
}
