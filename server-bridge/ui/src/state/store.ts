/**
 * Holds the state of the page. A component subscribes to the parts that it shows (`context.tsx`), and renders when one of
 * these changes: a piece of output leaves everything else as it is.
 */
import { reduce } from "./reducer";
import { type Action, INITIAL_STATE, type State } from "./state";

export class Store {
  #state: State;
  readonly #listeners = new Set<() => void>();
  /** The last result for each list of parts, so that an unchanged result is the same object. */
  readonly #parts = new Map<string, Partial<State>>();

  constructor(state: State = INITIAL_STATE) {
    this.#state = state;
  }

  readonly state = (): State => this.#state;

  readonly dispatch = (action: Action): void => {
    const next = reduce(this.#state, action);
    if (next === this.#state) return;
    this.#state = next;
    for (const listener of this.#listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Some parts of the state: the same object as long as none of them changes. */
  parts<Key extends keyof State>(keys: Key[]): Pick<State, Key> {
    const name = keys.join();
    const known = this.#parts.get(name) as Pick<State, Key> | undefined;
    if (known !== undefined && keys.every((key) => known[key] === this.#state[key])) return known;
    const parts = Object.fromEntries(keys.map((key) => [key, this.#state[key]])) as Pick<State, Key>;
    this.#parts.set(name, parts);
    return parts;
  }
}
