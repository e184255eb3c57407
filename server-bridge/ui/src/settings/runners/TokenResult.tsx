import { useRef } from "react";
import { absoluteTime } from "../../lib/format";
import { useAppState } from "../../state/context";
import type { RunnerToken } from "../../types";
import { CopyButton } from "../../kit/CopyButton";

interface Props {
  result: RunnerToken;
  /** Whether the machine is not connected yet, so that its coming online is worth saying. */
  waiting: boolean;
  onDone: () => void;
}

/** A new token, shown this once, and the command to paste on the machine. */
export function TokenResult({ result, waiting, onDone }: Props) {
  const { runners } = useAppState();
  const token = useRef<HTMLElement>(null);
  const command = useRef<HTMLElement>(null);
  const online = runners.some((runner) => runner.name === result.name && runner.online);
  return (
    <div className="token-result" role="group" aria-label={`Token of ${result.name}`}>
      <p>
        Run this on <strong>{result.name}</strong>. The token is shown only now.
      </p>
      <div className="copyable">
        <code ref={command} data-testid="runner-command">
          {result.command}
        </code>
        <CopyButton name="Copy command" source={command} />
      </div>
      <p className="label">Token alone</p>
      <div className="copyable">
        <code ref={token} data-testid="runner-token">
          {result.token}
        </code>
        <CopyButton name="Copy token" source={token} />
      </div>
      {result.expires_at != null && (
        <p className="hint">It works for one machine, until {absoluteTime(result.expires_at)}.</p>
      )}
      {result.old_token_expires_at != null && (
        <p className="hint">The previous token works until {absoluteTime(result.old_token_expires_at)}.</p>
      )}
      <footer>
        <span role="status">{waiting && (online ? `${result.name} is connected.` : `Waiting for ${result.name} to connect…`)}</span>
        <button type="button" onClick={onDone}>
          Done
        </button>
      </footer>
    </div>
  );
}
