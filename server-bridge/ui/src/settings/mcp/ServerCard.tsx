import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../../kit/ConfirmButton";
import marks from "../../kit/marks.module.css";
import { classes } from "../../lib/classes";
import { useAction } from "../../lib/useAction";
import { plainly, shortHash } from "../hookTexts";
import { Problem, Unseen } from "../parts";
import { useRequests } from "../requests";
import type { McpServer } from "../types";
import { CheckResult } from "./CheckResult";
import { Tools } from "./Tools";
import { useCheck } from "./useCheck";
import styles from "../settings.module.css";
import layout from "./mcp.module.css";

interface Props {
  server: McpServer;
  onChanged: () => Promise<void>;
  onRemove: () => void;
}

const BADGES = { ready: marks.holds, waiting: marks.lacks, shadowed: undefined };

/** One server: its exact command or address, its state, and its tools. */
export function ServerCard({ server, onChanged, onRemove }: Props) {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const [isUnfolded, setUnfolded] = useState(false);
  const check = useCheck(server.name, async () => {
    await onChanged();
    setUnfolded(true);
  });
  const approve = useAction(async () => {
    await requests.approveMcpServer(server.hash);
    await onChanged();
  });
  const revoke = useAction(async () => {
    await requests.revokeMcpServer(server.hash);
    await onChanged();
  });
  const accept = useAction(async (hash: string) => {
    await requests.acceptMcpChanges(server.name, hash);
    await onChanged();
  });
  const logOut = useAction(async () => {
    await requests.forgetMcpLogin(server.name);
    await onChanged();
  });
  return (
    <li className={styles.card}>
      <header>
        <h4>
          {server.icon !== null && <img className={layout.icon} src={server.icon} alt="" />}
          {plainly(server.name)} <span className={classes(marks.badge, BADGES[server.state])}>{t(`mcp.states.${server.state}`)}</span>
          {server.logged_in && (
            <>
              {" "}
              <span className={classes(marks.badge, marks.holds)}>{t("mcp.loggedIn")}</span>
            </>
          )}
        </h4>
        <span className="hint">{t(`hooks.layers.${server.layer}`)}</span>
      </header>
      <Definition server={server} />
      <Buttons
        server={server}
        checking={check.busy}
        onCheck={() => void check.run()}
        onApprove={() => void approve.run()}
        onRevoke={() => void revoke.run()}
        onLogOut={() => void logOut.run()}
        onRemove={onRemove}
      />
      <CheckResult name={server.name} check={check} />
      {server.state === "ready" && (
        <Tools server={server} isUnfolded={isUnfolded} onUnfold={setUnfolded} onAccept={(hash) => void accept.run(hash)} />
      )}
      <Problem text={approve.error ?? revoke.error ?? accept.error ?? logOut.error} />
    </li>
  );
}

function Definition({ server }: { server: McpServer }) {
  const { t } = useTranslation("settings");
  const { transport, state } = server;
  const names = plainly(server.secrets.join("\n"));
  const files = plainly(server.files.join(", "));
  const isOfWorkspace = server.layer === "workspace" || server.layer === "workspace-local";
  return (
    <>
      <pre className={layout.whole}>{plainly(server.action)}</pre>
      {names !== "" && <p className={styles.asWritten}>{t(transport === "http" ? "mcp.sent" : "mcp.variables", { names })}</p>}
      {isOfWorkspace && (
        <p className={classes("hint", styles.asWritten)}>{files === "" ? t("mcp.noFiles") : t("mcp.files", { files })}</p>
      )}
      <Unseen what={server.unseen} />
      <p className={classes("hint", styles.asWritten)}>
        {t("mcp.source", { transport: t(`mcp.transports.${transport}`), origin: plainly(server.origin), hash: shortHash(server.hash) })}
      </p>
      {state === "shadowed" && <p className="caution">{t("mcp.shadowed")}</p>}
    </>
  );
}

interface ButtonsProps {
  server: McpServer;
  checking: boolean;
  onCheck: () => void;
  onApprove: () => void;
  onRevoke: () => void;
  onLogOut: () => void;
  onRemove: () => void;
}

/** The buttons of a server, which depend on its state and on who defined it. */
function Buttons({ server, checking, onCheck, onApprove, onRevoke, onLogOut, onRemove }: ButtonsProps) {
  const { t } = useTranslation("settings");
  const { layer, state } = server;
  const name = plainly(server.name);
  const isOfWorkspace = layer === "workspace" || layer === "workspace-local";
  if (state === "shadowed" && layer !== "user") return null;
  return (
    <div className={styles.actions}>
      {state === "ready" && (
        <button type="button" className="quiet" aria-label={t("mcp.checkName", { name })} disabled={checking} onClick={onCheck}>
          {t("mcp.check")}
        </button>
      )}
      {state === "waiting" && (
        <ConfirmButton
          label={t("mcp.approve")}
          name={t("mcp.approveName", { name })}
          question={t("mcp.approveQuestion")}
          detail={plainly(server.action)}
          confirmLabel={t("mcp.approve")}
          onConfirm={onApprove}
        />
      )}
      {state === "ready" && isOfWorkspace && (
        <ConfirmButton
          label={t("mcp.revoke")}
          name={t("mcp.revokeName", { name })}
          question={t("mcp.revokeQuestion", { name })}
          confirmLabel={t("mcp.revoke")}
          onConfirm={onRevoke}
        />
      )}
      {server.logged_in && (
        <button type="button" className="quiet" aria-label={t("mcp.logOutName", { name })} onClick={onLogOut}>
          {t("mcp.logOut")}
        </button>
      )}
      {layer === "user" && (
        <ConfirmButton
          label={t("remove")}
          name={t("mcp.removeName", { name })}
          question={t("mcp.removeQuestion", { name })}
          confirmLabel={t("remove")}
          onConfirm={onRemove}
        />
      )}
    </div>
  );
}
