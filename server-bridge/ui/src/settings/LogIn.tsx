import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { loginPage } from "../lib/loginReturn";
import { useAction } from "../lib/useAction";
import { onLoginEnd } from "../state/loginEnd";
import { plainly } from "./hookTexts";
import { Problem } from "./parts";
import styles from "./settings.module.css";

interface Props {
  /** The name of the service to log in to, as shown to people. */
  name: string;
  /** The topic under which the end of the login is announced: the name of an MCP server, or the result of `channelTopic`. */
  topic: string;
  /** Begins the login; the provider's page redirects the browser to this URL. */
  begin: (redirectUri: string) => Promise<{ url: string }>;
  /** Called once another tab has ended the login. */
  onLoggedIn: () => unknown;
}

/** Begins a login. The provider's page opens in a new tab, where it redirects to this page. */
export function LogIn({ name, topic, begin: beginAt, onLoggedIn }: Props) {
  const { t } = useTranslation("settings");
  const [page, setPage] = useState<URL | null>(null);
  useEffect(() => onLoginEnd(topic, onLoggedIn), [topic, onLoggedIn]);
  const begin = useAction(async () => {
    const { url } = await beginAt(`${window.location.origin}/`);
    const found = loginPage(url);
    if (found === null) throw new Error(t("mcp.noLoginPage"));
    setPage(found);
    // With `noopener` the browser does not report whether the tab opened, so the link below is always shown.
    window.open(found.href, "_blank", "noopener,noreferrer");
  });
  return (
    <>
      <button type="button" className={styles.start} aria-label={t("mcp.logInName", { name: plainly(name) })} disabled={begin.busy} onClick={() => void begin.run()}>
        {t("mcp.logIn")}
      </button>
      <p role="status" className="hint">
        {page !== null && (
          <>
            {t("mcp.loginOpened", { host: page.host })}{" "}
            <a href={page.href} target="_blank" rel="noopener noreferrer">
              {t("mcp.loginLink")}
            </a>
          </>
        )}
      </p>
      <Problem text={begin.error} />
    </>
  );
}
