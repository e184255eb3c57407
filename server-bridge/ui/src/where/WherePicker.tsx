import { useActions, useAppState } from "../state/context";
import { AUTOMATIC, options, where } from "../state/where";
import { StateDot } from "./StateDot";

/** Where the next command runs, always in view, and the switch of it. */
export function WherePicker() {
  const { settings, runners } = useAppState();
  const actions = useActions();
  if (settings === null) return <div className="where" aria-busy="true" />;
  const { state, hint } = where(settings, runners);
  const choose = async (value: string) => {
    try {
      const warning = await actions.setActiveRunner(value === AUTOMATIC ? null : value);
      if (warning !== null) actions.warn(warning);
    } catch (error) {
      actions.report(error);
    }
  };
  return (
    <div className="where" data-testid="where" data-state={state}>
      <span className="place">
        <StateDot state={state} />
        <select
          aria-label="Active runner"
          value={settings.active_runner ?? AUTOMATIC}
          onChange={(event) => void choose(event.target.value)}
        >
          {options(settings).map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
              {option.state === "offline" && " (offline)"}
            </option>
          ))}
        </select>
      </span>
      {hint !== null && <span className="hint">{hint}</span>}
    </div>
  );
}
