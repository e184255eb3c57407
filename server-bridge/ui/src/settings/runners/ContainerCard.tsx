import { type ChangeEvent, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { DownloadLink } from "../../kit/DownloadLink";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { useTimeWords } from "../../lib/useTimeWords";
import { useAppState } from "../../state/context";
import { isPulling } from "../../state/where";
import { StateDot } from "../../where/StateDot";
import { useDockerState } from "../../where/useDockerState";
import { Problem, Ready } from "../parts";
import { useRequests } from "../requests";
import type { Choice } from "../../types";
import type { Container } from "../types";
import { useActivate } from "./RunnerCard";
import styles from "../settings.module.css";
import marks from "../../kit/marks.module.css";

const MIB_BYTES = 1_048_576;
const EXPORT_ADDRESS = "/api/v1/container/export";

/** The user's own container on the server. */
export function ContainerCard({ choice }: { choice: Choice }) {
  const { t } = useTranslation("settings");
  const { settings } = useAppState("settings");
  const requests = useRequests();
  const loaded = useLoaded(["container"], requests.container);
  const activate = useActivate(choice.name);
  const active = settings?.active_runner === choice.name;
  useDockerState(isPulling(choice));
  return (
    <section className={`${styles.card} ${styles.runner}`} aria-labelledby="container-title" data-testid="container">
      <header>
        <StateDot state={loaded.value?.state === "running" ? "online" : "offline"} />
        <h4 id="container-title">{t("container.title")}</h4>
        {active && <span className={`${marks.badge} ${marks.active}`}>{t("runners.active")}</span>}
        <span className="hint">{loaded.value !== null && t(`container.states.${loaded.value.state}`)}</span>
      </header>
      {!choice.available && <p className="caution">{choice.note}</p>}
      <Ready loaded={loaded}>{(container) => <Facts container={container} />}</Ready>
      <div className={styles.actions}>
        {!active && (
          <button type="button" className="quiet" disabled={activate.busy} onClick={() => void activate.run()}>
            {t("runners.activate")}
          </button>
        )}
        <Controls container={loaded.value} reload={loaded.reload} />
      </div>
      <Problem text={activate.error} />
    </section>
  );
}

function Facts({ container }: { container: Container }) {
  const { t } = useTranslation("settings");
  const { figure } = useTimeWords();
  const limits = [
    t("container.memory", { mib: figure(Math.round(container.memory / MIB_BYTES)) }),
    t("container.pids", { count: container.pids }),
    ...(container.cpus === null ? [] : [t("container.cpus", { count: container.cpus })]),
  ];
  return (
    <dl className={styles.facts}>
      <div>
        <dt>{t("container.image")}</dt>
        <dd>
          {container.image} {container.own_image && <span className={marks.badge}>{t("container.own")}</span>}
        </dd>
      </div>
      <div>
        <dt>{t("container.limits")}</dt>
        <dd>{limits.join(" · ")}</dd>
      </div>
      <div>
        <dt>{t("container.network")}</dt>
        <dd>{container.network}</dd>
      </div>
      {container.unlimited.length > 0 && (
        <div>
          <dt>{t("container.unlimited")}</dt>
          <dd className="caution">{container.unlimited.join(", ")}</dd>
        </div>
      )}
    </dl>
  );
}

function Controls({ container, reload }: { container: Container | null; reload: () => Promise<void> }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [workspace, setWorkspace] = useState(false);
  const [note, setNote] = useState<string | null>(null);
  const file = useRef<HTMLInputElement>(null);
  const work = useAction(async (change: () => Promise<unknown>, said: string) => {
    setNote(null);
    await change();
    setNote(said);
    await reload();
  });
  const upload = (event: ChangeEvent<HTMLInputElement>) => {
    const archive = event.target.files?.[0];
    event.target.value = "";
    if (archive !== undefined) void work.run(() => requests.importContainer(archive, workspace), t("container.imported"));
  };
  const none = container === null || container.state === "none";
  return (
    <>
      <button
        type="button"
        className="quiet"
        disabled={work.busy || none || container.state === "stopped"}
        onClick={() => void work.run(requests.stopContainer, t("container.stopped"))}
      >
        {t("container.stop")}
      </button>
      <button
        type="button"
        className="quiet"
        disabled={work.busy || none}
        title={t("container.commitHint")}
        onClick={() => void work.run(requests.commitContainer, t("container.committed"))}
      >
        {t("container.commit")}
      </button>
      {none ? (
        <button type="button" className="quiet" disabled>
          {t("container.export")}
        </button>
      ) : (
        <DownloadLink className="button quiet" address={EXPORT_ADDRESS}>
          {t("container.export")}
        </DownloadLink>
      )}
      <button type="button" className="quiet" disabled={work.busy} title={t("container.importHint")} onClick={() => file.current?.click()}>
        {t("container.import")}
      </button>
      <input ref={file} type="file" accept=".tar" hidden aria-label={t("container.import")} onChange={upload} />
      <ConfirmButton
        label={t("container.reset")}
        question={t(workspace ? "container.questionAll" : "container.question")}
        confirmLabel={t("container.reset")}
        onConfirm={() => void work.run(() => requests.resetContainer(workspace), t("container.wasReset"))}
      />
      <label className={`${styles.tick} ${styles.whole}`}>
        <input type="checkbox" checked={workspace} onChange={(event) => setWorkspace(event.target.checked)} />
        {t("container.workspace")}
      </label>
      <p role="status" className={`hint ${styles.whole}`}>
        {work.busy ? t("container.working") : note}
      </p>
      <Problem text={work.error} />
    </>
  );
}
