import { useState } from "react";
import { useAction } from "../lib/useAction";
import { useActions, useAppState } from "../state/context";
import { AUTOMATIC, options } from "../state/where";
import { StateDot } from "./StateDot";

/** The switch of the active runner; it takes effect for the next command. */
export function ActiveRunner() {
  const { settings } = useAppState();
  const actions = useActions();
  const [warning, setWarning] = useState<string | null>(null);
  const choose = useAction(async (value: string) => {
    setWarning(null);
    setWarning(await actions.setActiveRunner(value === AUTOMATIC ? null : value));
  });
  if (settings === null) return null;
  const active = settings.active_runner ?? AUTOMATIC;
  return (
    <fieldset className="choices">
      <legend>Where commands run</legend>
      <p className="hint">Takes effect for the next command.</p>
      {options(settings).map((option, index) => (
        <div key={option.value} className="choice">
          <label>
            <input
              type="radio"
              name="active-runner"
              value={option.value}
              checked={active === option.value}
              aria-describedby={option.note === null ? undefined : `choice-note-${index}`}
              onChange={() => void choose.run(option.value)}
            />
            {option.label}
          </label>
          {option.value !== AUTOMATIC && <StateDot state={option.state} />}
          {option.note !== null && (
            <span className="hint" id={`choice-note-${index}`}>
              {option.note}
            </span>
          )}
        </div>
      ))}
      <p className="caution" role="status" data-testid="settings-warning">
        {warning}
      </p>
      <p className="problem" role="alert">
        {choose.error}
      </p>
    </fieldset>
  );
}
