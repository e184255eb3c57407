import { useState } from "react";
import { absoluteTime, relativeTime } from "../../lib/format";
import { useAction } from "../../lib/useAction";
import { useNow } from "../../lib/useNow";
import { useActions } from "../../state/context";
import type { Runner, RunnerToken } from "../../types";
import { ConfirmButton } from "../../kit/ConfirmButton";
import { MachineFacts } from "./MachineFacts";
import { StateDot } from "../../where/StateDot";
import { TokenResult } from "./TokenResult";

export function RunnerCard({ runner }: { runner: Runner }) {
  const actions = useActions();
  const [rotated, setRotated] = useState<RunnerToken | null>(null);
  const rotate = useAction(async () => setRotated(await actions.rotateRunner(runner.name)));
  const revoke = useAction(actions.revokeRunner);
  const problem = rotate.error ?? revoke.error;
  return (
    <li className="runner" data-testid="runner" data-name={runner.name} data-online={runner.online}>
      <header>
        <StateDot state={runner.online && runner.refused.length === 0 ? "online" : "offline"} />
        <h3>{runner.name}</h3>
        {runner.active && <span className="badge active">active</span>}
        <Seen runner={runner} />
      </header>
      {runner.online && runner.refused.length > 0 && (
        <p className="problem" data-testid="refused">
          Refused: lacks {runner.refused.join(", ")}, which this server requires.
        </p>
      )}
      <MachineFacts runner={runner} />
      <div className="actions">
        <button type="button" className="quiet" disabled={rotate.busy} onClick={() => void rotate.run()}>
          Rotate token
        </button>
        <ConfirmButton
          label="Revoke"
          name={`Revoke ${runner.name}`}
          question={`Revoke ${runner.name}? It is disconnected at once, and its token never works again.`}
          confirmLabel="Revoke"
          onConfirm={() => void revoke.run(runner.name)}
        />
      </div>
      {problem !== null && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      {rotated !== null && <TokenResult result={rotated} waiting={false} onDone={() => setRotated(null)} />}
    </li>
  );
}

function Seen({ runner }: { runner: Runner }) {
  const now = useNow();
  if (runner.online) return <span className="hint">online</span>;
  if (runner.last_seen === null) return <span className="hint">never connected</span>;
  return (
    <span className="hint" title={absoluteTime(runner.last_seen)}>
      last seen {relativeTime(runner.last_seen, now)}
    </span>
  );
}
