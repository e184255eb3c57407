import { useTranslation } from "react-i18next";
import { ConfirmButton } from "../kit/ConfirmButton";
import { classes } from "../lib/classes";
import { useAction } from "../lib/useAction";
import { useLoaded } from "../lib/useLoaded";
import { useNow } from "../lib/useNow";
import { useTimeWords } from "../lib/useTimeWords";
import { Problem, Ready } from "./parts";
import { useRequests } from "./requests";
import type { Node, NodeState } from "./types";
import styles from "./settings.module.css";
import marks from "../kit/marks.module.css";

const DOTS: Record<NodeState, string | undefined> = {
  up: marks.online,
  draining: marks.unclear,
  late: marks.refused,
  gone: undefined,
};

/** The servers that share the database; the list is refreshed while it is shown. */
export default function Nodes() {
  const { t } = useTranslation("settings");
  const requests = useRequests();
  const loaded = useLoaded(["nodes"], requests.nodes, useNow());
  const forget = useAction(async (url: string) => {
    await requests.forgetNode(url);
    await loaded.reload();
  });
  const drain = useAction(async (url: string, draining: boolean) => {
    await requests.drainNode(url, draining);
    await loaded.reload();
  });
  return (
    <>
      <Ready loaded={loaded}>
        {(nodes) =>
          nodes.length === 0 ? (
            <p className={styles.nothing}>
              {t("nodes.none")} <code>sandbridge serve --node-url URL</code>
            </p>
          ) : (
            <ul className={styles.cards}>
              {nodes.map((node) => (
                <NodeCard key={node.url} node={node} onForget={() => void forget.run(node.url)} onDrain={(draining) => void drain.run(node.url, draining)} />
              ))}
            </ul>
          )
        }
      </Ready>
      <Problem text={forget.error ?? drain.error} />
      <p className="hint">{t("nodes.stopping")}</p>
    </>
  );
}

function NodeCard({ node, onForget, onDrain }: { node: Node; onForget: () => void; onDrain: (draining: boolean) => void }) {
  const { t } = useTranslation("settings");
  const { absolute, second } = useTimeWords();
  const isLive = node.state === "up" || node.state === "draining";
  return (
    <li className={styles.card} data-testid="node">
      <header>
        <span aria-hidden="true" className={classes(marks.dot, DOTS[node.state])} />
        <h4>{node.url}</h4>
        <span className={marks.badge}>{t(`nodes.states.${node.state}`)}</span>
      </header>
      <p className={node.state === "late" ? "caution" : "hint"}>{t(`nodes.meanings.${node.state}`)}</p>
      <dl className={styles.facts}>
        {[
          [t("nodes.homes"), String(node.homes)],
          [t("server.version"), node.version],
          [t("server.started"), absolute(node.started_at)],
          [t(isLive ? "nodes.leaseUntil" : "nodes.leaseEnded"), second(node.lease_until)],
        ].map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {isLive && (
        <div className={styles.actions}>
          <button type="button" className="quiet" aria-label={t(node.state === "up" ? "nodes.drainName" : "nodes.undrainName", { url: node.url })} onClick={() => onDrain(node.state === "up")}>
            {t(node.state === "up" ? "nodes.drain" : "nodes.undrain")}
          </button>
        </div>
      )}
      {!isLive && (
        <div className={styles.actions}>
          <ConfirmButton
            label={t("remove")}
            name={t("nodes.forgetName", { url: node.url })}
            question={t("nodes.question", { url: node.url })}
            confirmLabel={t("remove")}
            onConfirm={onForget}
          />
        </div>
      )}
    </li>
  );
}
