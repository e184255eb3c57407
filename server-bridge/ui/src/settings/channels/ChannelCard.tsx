import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { Secret } from "../../kit/Secret";
import { classes } from "../../lib/classes";
import { useTimeWords } from "../../lib/useTimeWords";
import { useRequests } from "../requests";
import type { Channel, ChannelCode, ChannelLogin, ChannelTested } from "../types";
import { ServiceLogin } from "./ServiceLogin";
import styles from "../settings.module.css";

interface Props {
  channel: Channel;
  /** The user's login to the channel's service, if that has logins. */
  login: ChannelLogin | undefined;
  onLoggedIn: () => unknown;
  /** Runs an action, and then reloads all channels. */
  act: (work: () => Promise<void>) => void;
  onEdit: () => void;
}

const BADGES = { off: undefined, connecting: undefined, connected: marks.holds, down: marks.lacks, refused: marks.lacks };

export function ChannelCard({ channel, login, onLoggedIn, act, onEdit }: Props) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const requests = useRequests();
  const [code, setCode] = useState<ChannelCode | null>(null);
  const [tested, setTested] = useState<ChannelTested | null>(null);
  const { name, state } = channel;
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {name} <span className={marks.badge}>{channel.kind}</span>{" "}
          <span className={classes(marks.badge, BADGES[state])}>{t(`channels.states.${state}`)}</span>{" "}
          {channel.shared && <span className={marks.badge}>{t("channels.shared")}</span>}
        </h4>
      </header>
      <p className="hint">
        {channel.is_own ? t("channels.own") : t("channels.of", { owner: channel.owner })}
        {channel.connected_as !== "" && <> · {t("channels.connectedAs", { name: channel.connected_as })}</>}
        {channel.last_traffic !== null && <> · {t("channels.lastTraffic", { when: absolute(channel.last_traffic) })}</>}
      </p>
      {channel.last_error !== "" && state !== "connected" && <p className="caution">{channel.last_error}</p>}
      {channel.gap !== "" && <p className="caution">{t("channels.gap", { why: channel.gap })}</p>}
      {channel.waiting + channel.failed + channel.unsure > 0 && (
        <p className="hint">{t("channels.counts", { waiting: channel.waiting, failed: channel.failed, unsure: channel.unsure })}</p>
      )}
      {channel.is_own && channel.delivery_path !== null && (
        <p className="hint">{t("channels.deliveries", { address: `${window.location.origin}${channel.delivery_path}` })}</p>
      )}
      {code !== null && (
        <div className={styles.tokenResult} role="group" aria-label={t("channels.codeName", { name })}>
          <p>{t("channels.send", { to: code.connected_as || name, until: absolute(code.expires_at) })}</p>
          <Secret text={code.code} name={t("channels.copyCode")} testId="link-code" />
          <footer>
            <button type="button" onClick={() => setCode(null)}>
              {t("done")}
            </button>
          </footer>
        </div>
      )}
      {tested !== null && (
        <p className={tested.ok ? "hint" : "caution"} role="status">
          {tested.ok ? t("channels.works", { name: tested.connected_as }) : t("channels.fails", { why: tested.error })}
        </p>
      )}
      {login !== undefined && <ServiceLogin login={login} isOwn={channel.is_own} onLoggedIn={onLoggedIn} act={act} />}
      <div className={styles.formEnd}>
        <button type="button" aria-label={t("channels.linkName", { name })} onClick={() => act(async () => setCode(await requests.linkChannel(name)))}>
          {t("channels.link")}
        </button>
        <button type="button" aria-label={t("channels.testName", { name })} onClick={() => act(async () => setTested(await requests.testChannel(name)))}>
          {t("channels.test")}
        </button>
        {channel.is_own && (
          <>
            <button type="button" aria-label={t("channels.editName", { name })} onClick={onEdit}>
              {t("channels.edit")}
            </button>
            <ConfirmButton
              label={t("remove")}
              name={t("channels.removeName", { name })}
              question={t("channels.removeQuestion", { name })}
              confirmLabel={t("remove")}
              onConfirm={() => act(() => requests.removeChannel(name))}
            />
          </>
        )}
      </div>
    </li>
  );
}
