import { useEffect, useRef } from "react";
import { useActions, useAppState } from "../state/context";
import { ActiveRunner } from "../where/ActiveRunner";
import { AddRunner } from "./runners/AddRunner";
import { RunnerCard } from "./runners/RunnerCard";

/** A drawer over the page; the browser keeps the focus inside, and Escape closes it. */
export function SettingsPanel({ onClose }: { onClose: () => void }) {
  const { me, runners } = useAppState();
  const actions = useActions();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);

  return (
    <dialog
      ref={dialog}
      className="settings"
      aria-labelledby="settings-title"
      onClose={onClose}
      onClick={(event) => {
        if (event.target === dialog.current) dialog.current.close();
      }}
    >
      <div className="panel">
        <header>
          <h1 id="settings-title">Settings</h1>
          <button type="button" className="quiet" onClick={() => dialog.current?.close()}>
            Close
          </button>
        </header>
        <ActiveRunner />
        <section aria-labelledby="runners-title">
          <h2 id="runners-title">Runners</h2>
          {runners.length === 0 && <p className="hint">No machine is registered yet.</p>}
          <ul className="runners">
            {runners.map((runner) => (
              <RunnerCard key={runner.name} runner={runner} />
            ))}
          </ul>
          <AddRunner />
        </section>
        <section aria-labelledby="account-title" className="account">
          <h2 id="account-title">Account</h2>
          <p>
            {me?.name}
            {me?.admin && " (administrator)"} · <span className="hint">Sandbridge {me?.version}</span>
          </p>
          <button type="button" onClick={() => void actions.logout().catch(actions.report)}>
            Sign out
          </button>
        </section>
      </div>
    </dialog>
  );
}
