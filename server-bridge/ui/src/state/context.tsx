/** Gives every component the state and the actions. */
import { createContext, type ReactNode, useContext, useLayoutEffect, useMemo, useReducer, useRef } from "react";
import { type Actions, createActions } from "./actions";
import { reduce } from "./reducer";
import { INITIAL_STATE, type State } from "./state";
import { useEvents } from "./useEvents";

interface Session {
  actions: Actions;
  /** Brings the next attempt to connect forward. */
  retry: () => void;
}

const StateContext = createContext<State>(INITIAL_STATE);
const SessionContext = createContext<Session | null>(null);

export function SessionProvider({ children }: { children: ReactNode }) {
  const [state, dispatch] = useReducer(reduce, INITIAL_STATE);
  const latest = useRef(state);
  useLayoutEffect(() => {
    latest.current = state;
  }, [state]);
  const actions = useMemo(() => createActions(dispatch, () => latest.current), []);
  const retry = useEvents(state.session === "signed_in", dispatch, actions);
  const session = useMemo(() => ({ actions, retry }), [actions, retry]);

  return (
    <SessionContext value={session}>
      <StateContext value={state}>{children}</StateContext>
    </SessionContext>
  );
}

export function useAppState(): State {
  return useContext(StateContext);
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession needs a SessionProvider above it");
  return session;
}

export function useActions(): Actions {
  return useSession().actions;
}
