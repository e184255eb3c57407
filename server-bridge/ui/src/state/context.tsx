/** Provides components with the actions, and with the parts of the state that they show. */
import { QueryClientProvider } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useMemo, useState, useSyncExternalStore } from "react";
import { type Actions, createActions } from "./actions";
import { createQueries } from "./queries";
import type { State } from "./state";
import { Store } from "./store";
import { useEvents } from "./useEvents";

export interface Session {
  store: Store;
  actions: Actions;
  /** Brings the next attempt to connect forward. */
  retry: () => void;
}

/** Provided directly only in tests of components, which have no server. */
export const SessionContext = createContext<Session | null>(null);

interface ProviderProps {
  /** The address from which the page was opened, if a provider sent the browser back after a login to an MCP server. */
  loginReturn: string | null;
  children: ReactNode;
}

export function SessionProvider({ loginReturn, children }: ProviderProps) {
  const [store] = useState(() => new Store());
  const [queries] = useState(createQueries);
  const [actions] = useState(() => createActions(store.dispatch, store.state, loginReturn));
  const signedIn = useSyncExternalStore(store.subscribe, () => store.state().session === "signed_in");
  const retry = useEvents(signedIn, store.dispatch, actions);
  const session = useMemo(() => ({ store, actions, retry }), [store, actions, retry]);
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={session}>{children}</SessionContext>
    </QueryClientProvider>
  );
}

/** Some parts of the state; the component renders when one of them changes. */
export function useAppState<Key extends keyof State>(...keys: Key[]): Pick<State, Key> {
  const { store } = useSession();
  return useSyncExternalStore(store.subscribe, () => store.parts(keys));
}

/** A value selected from the state; the component renders when it changes, so a selector must not make a new object each time. */
export function useSelected<T>(select: (state: State) => T): T {
  const { store } = useSession();
  return useSyncExternalStore(store.subscribe, () => select(store.state()));
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === null) throw new Error("useSession needs a SessionProvider above it");
  return session;
}

export function useActions(): Actions {
  return useSession().actions;
}
