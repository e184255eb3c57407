/** Keeps the page in sync with the server while a user is signed in. */
import { type Dispatch, useCallback, useEffect, useRef } from "react";
import { eventsUrl } from "../api";
import { EventsClient } from "../events";
import { GREETING_WAIT_MS, HIDDEN_STALE_MS } from "../limits";
import type { ServerEvent } from "../types";
import type { Actions } from "./actions";
import { EventBatch } from "./eventBatch";
import type { Action } from "./state";

/** Connects to the events while a user is signed in; returns a function that tries to connect at once. */
export function useEvents(signedIn: boolean, dispatch: Dispatch<Action>, actions: Actions): () => void {
  const current = useRef<EventsClient | null>(null);

  useEffect(() => {
    if (!signedIn) return;
    const batch = new EventBatch((events) => dispatch({ type: "events", events }));
    let greeted = false;
    // A `reset` that follows a `hello` without resumption would cause a second reload.
    let loadsAnew = false;
    const loadAnew = () => {
      batch.flush();
      // On the first connection too: what a component loaded before it may have changed without an event.
      dispatch({ type: "connection_restored" });
      greeted = true;
      void batch.during(actions.refresh);
    };
    const onEvent = (event: ServerEvent) => {
      if (event.type === "hello") actions.sendWaiting();
      if (event.type === "reset" && loadsAnew) return;
      loadsAnew = event.type === "hello" && event.resumed !== true;
      if (loadsAnew || event.type === "reset" || event.type === "lagged") return loadAnew();
      if (event.type !== "hello") batch.add(event);
    };
    const client = new EventsClient({
      url: eventsUrl(window.location),
      onEvent,
      onState: (state) => dispatch({ type: "connection", state }),
      onWaiting: (at) => dispatch({ type: "retry_at", at }),
      onRefused: () => void actions.resume().catch(actions.report),
    });
    current.current = client;
    client.connect();
    // If WebSockets are blocked, the page still loads its data.
    const ungreeted = setTimeout(() => {
      if (!greeted) void batch.during(actions.refresh);
    }, GREETING_WAIT_MS);
    const unwatch = watchPage(client, actions.followAddress);
    return () => {
      clearTimeout(ungreeted);
      unwatch();
      client.stop();
      batch.stop();
      current.current = null;
    };
  }, [signedIn, dispatch, actions]);

  return useCallback(() => current.current?.retry(), []);
}

/** Reacts to a returning network, to a page shown after a long time, and to changes of the address. */
function watchPage(client: EventsClient, followAddress: () => void): () => void {
  let hiddenAt = 0;
  // A socket from before the network change may be dead without knowing it; a new one resumes the events.
  const onOnline = () => client.connect();
  const onVisibility = () => {
    if (document.visibilityState === "hidden") hiddenAt = Date.now();
    else if (Date.now() - hiddenAt > HIDDEN_STALE_MS) client.connect();
    else client.retry();
  };
  window.addEventListener("online", onOnline);
  window.addEventListener("popstate", followAddress);
  document.addEventListener("visibilitychange", onVisibility);
  return () => {
    window.removeEventListener("online", onOnline);
    window.removeEventListener("popstate", followAddress);
    document.removeEventListener("visibilitychange", onVisibility);
  };
}
