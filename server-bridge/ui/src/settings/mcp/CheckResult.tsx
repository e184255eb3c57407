import { useTranslation } from "react-i18next";
import { classes } from "../../lib/classes";
import { plainly } from "../hookTexts";
import { LogIn } from "../LogIn";
import { useRequests } from "../requests";
import type { useCheck } from "./useCheck";
import styles from "../settings.module.css";

interface Props {
  name: string;
  check: ReturnType<typeof useCheck>;
}

/** The progress and the result of a check: an error may have several lines, the last of which the program wrote. */
export function CheckResult({ name, check }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  return (
    <>
      <p role="status" className={check.busy ? "hint" : styles.good}>
        {check.busy && t("mcp.checking")}
        {!check.busy && check.count !== null && t("mcp.answered", { count: check.count })}
      </p>
      <p role="alert" className={classes("problem", styles.asWritten)}>
        {check.error !== null && (check.wantsLogin ? t("mcp.loginWanted") : plainly(check.error))}
      </p>
      {check.wantsLogin && <LogIn name={name} topic={name} begin={(back) => requests.beginMcpLogin(name, back)} onLoggedIn={check.run} />}
    </>
  );
}
