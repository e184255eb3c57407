import { absoluteTime } from "../../lib/format";
import type { Layer, Runner } from "../../types";

/** What a machine said of itself when it last registered, and which layers of confinement hold there. */
export function MachineFacts({ runner }: { runner: Runner }) {
  const facts: [string, string | null][] = [
    ["System", [runner.os, runner.arch].filter((part) => part !== null).join(" · ") || null],
    ["Host", runner.hostname],
    ["Workspace", runner.workspace],
    ["Profile", runner.profile],
    ["Runs as", runsAs(runner)],
    ["Kill tier", runner.kill_tier],
    ["Version", runner.version],
    ["Token until", runner.token_expires_at === null ? null : absoluteTime(runner.token_expires_at)],
  ];
  const known = facts.filter(([, value]) => value !== null);
  return (
    <>
      {known.length > 0 && (
        <dl className="facts">
          {known.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {runner.layers.length > 0 && (
        <ul className="layers" aria-label="Confinement">
          {runner.layers.map((layer) => (
            <LayerBadge key={layer.name} layer={layer} />
          ))}
        </ul>
      )}
    </>
  );
}

function runsAs({ run_as: users }: Runner): string | null {
  if (users === null) return null;
  return users.privileged === null ? users.default : `${users.default}; with approval ${users.privileged}`;
}
/** Layers that somebody chooses: without them nothing is missing on the machine. */
const CHOSEN = ["network", "limits"];

function LayerBadge({ layer }: { layer: Layer }) {
  if (!layer.holds && CHOSEN.includes(layer.name)) {
    return <li className="badge">{`${layer.name}: ${layer.detail}`}</li>;
  }
  return (
    <li className={layer.holds ? "badge holds" : "badge lacks"} title={layer.detail}>
      <span aria-hidden="true">{layer.holds ? "✓ " : "! "}</span>
      {layer.name}
      {layer.holds ? <span className="unseen"> holds</span> : ` does not hold: ${layer.detail}`}
    </li>
  );
}
