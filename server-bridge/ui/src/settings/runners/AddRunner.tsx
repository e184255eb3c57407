import { type FormEvent, useState } from "react";
import { NAME_RULE, nameProblem } from "../../lib/names";
import { useAction } from "../../lib/useAction";
import { useActions } from "../../state/context";
import type { RunnerToken } from "../../types";
import { TokenResult } from "./TokenResult";

export function AddRunner() {
  const actions = useActions();
  const [name, setName] = useState("");
  const [enrol, setEnrol] = useState(false);
  const [added, setAdded] = useState<RunnerToken | null>(null);
  const add = useAction(async () => {
    const problem = nameProblem(name);
    if (problem !== null) throw new Error(problem);
    setAdded(await actions.addRunner(name, enrol));
    setName("");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void add.run();
  };
  return (
    <form className="add-runner" onSubmit={submit}>
      <h3>Connect a machine</h3>
      <label htmlFor="runner-name">Runner name</label>
      <div className="row">
        <input
          id="runner-name"
          placeholder="laptop"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          aria-describedby="runner-name-rule"
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <button type="submit" className="primary" disabled={add.busy}>
          Add runner
        </button>
      </div>
      <p className="hint" id="runner-name-rule">
        {NAME_RULE}
      </p>
      <label className="check">
        <input type="checkbox" checked={enrol} onChange={(event) => setEnrol(event.target.checked)} />
        One-use enrolment: the token works once, within an hour, and the machine is given its own
      </label>
      <p className="problem" role="alert">
        {add.error}
      </p>
      {added !== null && <TokenResult result={added} waiting onDone={() => setAdded(null)} />}
    </form>
  );
}
