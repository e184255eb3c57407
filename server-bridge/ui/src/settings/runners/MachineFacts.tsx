import { useTranslation } from "react-i18next";
import { useTimeWords } from "../../lib/useTimeWords";
import type { Layer, Runner } from "../../types";
import styles from "../settings.module.css";
import marks from "../../kit/marks.module.css";

/** The facts that a machine reported when it last registered, and its active layers of confinement. */
export function MachineFacts({ runner }: { runner: Runner }) {
  const { t } = useTranslation("settings");
  const { absolute } = useTimeWords();
  const users = runner.run_as;
  const facts: [string, string | null][] = [
    [t("runners.facts.system"), [runner.os, runner.arch].filter((part) => part !== null).join(" · ") || null],
    [t("runners.facts.host"), runner.hostname],
    [t("runners.facts.workspace"), runner.workspace],
    [t("runners.facts.profile"), runner.profile],
    [
      t("runners.facts.runsAs"),
      users && (users.privileged === null ? users.default : t("runners.facts.both", { user: users.default, other: users.privileged })),
    ],
    [t("runners.facts.kill"), runner.kill_tier],
    [t("runners.facts.version"), runner.version],
    [t("runners.facts.until"), runner.token_expires_at === null ? null : absolute(runner.token_expires_at)],
  ];
  const known = facts.filter(([, value]) => value !== null);
  return (
    <>
      {known.length > 0 && (
        <dl className={styles.facts}>
          {known.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {runner.layers.length > 0 && <Confinement layers={runner.layers} />}
    </>
  );
}

/** A summary of whether the machine confines commands; a click shows each layer, and missing layers are listed without a click. */
function Confinement({ layers }: { layers: Layer[] }) {
  const { t } = useTranslation("settings");
  const missing = layers.filter((layer) => !layer.holds && !layer.by_choice);
  const wanted = layers.filter((layer) => layer.holds || !layer.by_choice).length;
  return (
    <>
      {missing.length > 0 && (
        <ul className={styles.layers} aria-label={t("runners.missing")}>
          {missing.map((layer) => (
            <LayerBadge key={layer.name} layer={layer} />
          ))}
        </ul>
      )}
      <details>
        <summary className={missing.length === 0 ? styles.confined : undefined}>
          {missing.length === 0 ? t("runners.confined") : t("runners.partly", { holds: wanted - missing.length, all: wanted })}
        </summary>
        <ul className={styles.layers} aria-label={t("runners.confinement")}>
          {layers.map((layer) => (
            <LayerBadge key={layer.name} layer={layer} />
          ))}
        </ul>
      </details>
    </>
  );
}

function LayerBadge({ layer }: { layer: Layer }) {
  const { t } = useTranslation("settings");
  if (layer.by_choice) {
    return <li className={marks.badge}>{`${layer.name}: ${layer.detail}`}</li>;
  }
  return (
    <li className={layer.holds ? `${marks.badge} ${marks.holds}` : `${marks.badge} ${marks.lacks}`} title={layer.detail}>
      <span aria-hidden="true">{layer.holds ? "✓ " : "! "}</span>
      {layer.name} {layer.holds ? <span className="unseen">{t("runners.holds")}</span> : t("runners.lacks", { why: layer.detail })}
    </li>
  );
}
