import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useAction } from "../../lib/useAction";
import { useLoaded } from "../../lib/useLoaded";
import { useTimeWords } from "../../lib/useTimeWords";
import { CHANNEL_LOOK_MS } from "../../limits";
import { Problem, Ready } from "../parts";
import { useAppState } from "../../state/context";
import { useRequests } from "../requests";
import type { Channel, ChannelLink } from "../types";
import { AddChannel } from "./AddChannel";
import { ChannelCard } from "./ChannelCard";
import styles from "../settings.module.css";

/** The channels, the people linked to them, and a form to add a channel. */
export default function Channels() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["channels"], requests.channels);
  const logins = useLoaded(["channel-logins"], requests.channelLogins);
  const { reload } = loaded;
  // The server sends no events about the states of channels.
  useEffect(() => {
    const looking = setInterval(() => void reload(), CHANNEL_LOOK_MS);
    return () => clearInterval(looking);
  }, [reload]);
  const [edited, setEdited] = useState<{ channel: Channel; at: number } | null>(null);
  const act = useAction(async (work: () => Promise<void>) => {
    await work();
    await Promise.all([loaded.reload(), logins.reload()]);
  });
  return (
    <>
      <section className={styles.stack} aria-labelledby="channels">
        <h4 id="channels">{t("channels.title")}</h4>
        <p className="hint">{t("channels.about")}</p>
        <Ready loaded={loaded}>
          {({ channels }) => (
            <>
              {channels.length === 0 && <p className={styles.nothing}>{t("channels.none")}</p>}
              <ul className={styles.cards}>
                {channels.map((channel) => (
                  <ChannelCard
                    key={`${channel.owner}/${channel.name}`}
                    channel={channel}
                    login={logins.value?.logins.find((login) => login.channel === channel.name && login.owner === channel.owner)}
                    onLoggedIn={logins.reload}
                    act={(work) => void act.run(work)}
                    onEdit={() => setEdited((before) => ({ channel, at: (before?.at ?? 0) + 1 }))}
                  />
                ))}
              </ul>
            </>
          )}
        </Ready>
        <Problem text={act.error} />
      </section>
      {loaded.value !== null && <Links links={loaded.value.links} act={(work) => void act.run(work)} />}
      {loaded.value !== null && (
        <AddChannel
          key={edited?.at}
          kinds={loaded.value.kinds}
          edited={edited?.channel ?? null}
          onSaved={async () => {
            setEdited(null);
            await Promise.all([loaded.reload(), logins.reload()]);
          }}
        />
      )}
    </>
  );
}

/** The people who are linked to channels. */
function Links({ links, act }: { links: ChannelLink[]; act: (work: () => Promise<void>) => void }) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const { absolute } = useTimeWords();
  const { me } = useAppState("me");
  return (
    <section className={styles.stack} aria-labelledby="channel-links">
      <h4 id="channel-links">{t("channels.links")}</h4>
      {links.length === 0 && <p className={styles.nothing}>{t("channels.noLinks")}</p>}
      <ul className={styles.cards}>
        {links.map((link) => (
          <li key={link.id} className={styles.card}>
            <p>{t("channels.linked", { person: link.person_name || link.person, id: link.person, user: link.user, channel: link.channel })}</p>
            <p className="hint">{absolute(link.created_at)}</p>
            {link.notices && <p className="hint">{t("channels.noticesHere")}</p>}
            <div className={styles.formEnd}>
              {link.user === me?.name && (me.admin || link.notices) && (
                <button
                  type="button"
                  aria-label={t(link.notices ? "channels.noticesOffName" : "channels.noticesOnName", { person: link.person_name || link.person })}
                  onClick={() => act(() => requests.setChannelNotices(link.id, !link.notices))}
                >
                  {t(link.notices ? "channels.noticesOff" : "channels.noticesOn")}
                </button>
              )}
              <ConfirmButton
                label={t("remove")}
                name={t("channels.unlinkName", { person: link.person_name || link.person })}
                question={t("channels.unlinkQuestion", { person: link.person_name || link.person })}
                confirmLabel={t("remove")}
                onConfirm={() => act(() => requests.removeChannelLink(link.id))}
              />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
