import { lazy } from "react";
import { useLoaded } from "../lib/useLoaded";
import { useActions } from "../state/context";
import { LoginForm } from "./LoginForm";

const FirstAccount = lazy(() => import("../setup/FirstAccount"));

/** What the server says of itself to everybody. */
interface Status {
  version: string;
  setup_due: boolean;
}

/** For who is not signed in: the login, or on a new server the first account. */
export function Entrance() {
  const { request } = useActions();
  const status = useLoaded(() => request<Status>("GET", "/status"));
  if (status.value === null && status.error === null) return null;
  return status.value?.setup_due ? <FirstAccount onTaken={status.reload} /> : <LoginForm />;
}
