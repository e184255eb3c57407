import { useAppState } from "../state/context";

export function EmptyState({ onConnectRunner }: { onConnectRunner: () => void }) {
  const { runners, settings } = useAppState();
  return (
    <section className="empty" aria-label="Getting started">
      <h1>Run commands on your machines</h1>
      <p>
        Start a message with <code>!</code> and it runs in the active sandbox, for example <code>!pwd</code>. Its output
        appears here live, with its exit code and the machine it ran on.
      </p>
      <p>
        <code>/help</code> lists what else you can say: <code>/new</code>, <code>/runner</code>, <code>/cancel</code>.
      </p>
      {settings !== null && runners.length === 0 && (
        <div className="call">
          <h2>No runner is connected yet</h2>
          <p>
            A runner is a small program on the machine you want to use. Give it a name, and paste one command there.
          </p>
          <button type="button" className="primary" onClick={onConnectRunner}>
            Connect a runner
          </button>
        </div>
      )}
    </section>
  );
}
