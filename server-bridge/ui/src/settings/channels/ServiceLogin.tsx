import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { useTimeWords } from "../../lib/useTimeWords";
import { channelTopic } from "../../state/loginEnd";
import { LogIn } from "../LogIn";
import { useRequests } from "../requests";
import type { ChannelLogin } from "../types";
import styles from "../settings.module.css";

interface Props {
  login: ChannelLogin;
  /** True if the user owns the channel, and so its app. */
  isOwn: boolean;
  onLoggedIn: () => unknown;
  /** Runs an action, and then loads everything again. */
  act: (work: () => Promise<void>) => void;
}

/** The user's login to the service of a channel: agents use documents there with the user's permissions. */
export function ServiceLogin({ login, isOwn, onLoggedIn, act }: Props) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const requests = useRequests();
  const { channel: name, state, since } = login;
  return (
    <div className={styles.stack} role="group" aria-label={t("channels.serviceName", { name })}>
      <p className={state === "ended" ? "caution" : "hint"}>
        {state === "logged_in" && t("channels.serviceIn", { when: since === null ? "" : absolute(since) })}
        {state === "ended" && t("channels.serviceEnded")}
        {state === "none" && t("channels.serviceOut")}
      </p>
      {state === "logged_in" ? (
        <div className={styles.formEnd}>
          <ConfirmButton
            label={t("channels.logOut")}
            name={t("channels.logOutName", { name })}
            question={t("channels.logOutQuestion")}
            confirmLabel={t("channels.logOut")}
            onConfirm={() => act(() => requests.forgetChannelLogin(name))}
          />
        </div>
      ) : (
        <>
          {isOwn && <p className="hint">{t("channels.redirect", { address: `${window.location.origin}/` })}</p>}
          <LogIn name={name} topic={channelTopic(name)} begin={(back) => requests.beginChannelLogin(name, back)} onLoggedIn={onLoggedIn} />
        </>
      )}
    </div>
  );
}
