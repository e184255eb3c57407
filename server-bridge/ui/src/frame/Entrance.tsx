import { lazy } from "react";
import { taken } from "../api";
import { useLoaded } from "../lib/useLoaded";
import { useActions } from "../state/context";
import { LoginForm } from "./LoginForm";

const FirstAccount = lazy(() => import("../setup/FirstAccount"));

/** The page for users who are not signed in: the login, or on a new server the first account. */
export function Entrance() {
  const { client } = useActions();
  const status = useLoaded(["status"], () => taken(client.GET("/api/v1/status")));
  if (status.value === null && status.error === null) return null;
  return status.value?.setup_due ? <FirstAccount onTaken={status.reload} /> : <LoginForm />;
}
