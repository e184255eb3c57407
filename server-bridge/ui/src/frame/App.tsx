import { lazy, Suspense } from "react";
import { isSetup } from "../lib/location";
import { useAddress } from "../lib/useAddress";
import { useAppState } from "../state/context";
import { Entrance } from "./Entrance";
import { ErrorBoundary } from "./ErrorBoundary";
import { PasswordPrompt } from "./PasswordPrompt";
import { Splash } from "./Splash";
import { useTitle } from "./useTitle";
import { Workbench } from "./Workbench";

const Wizard = lazy(() => import("../setup/Wizard"));

export function App() {
  useTitle();
  return (
    <ErrorBoundary>
      <Suspense fallback={null}>
        <View />
      </Suspense>
    </ErrorBoundary>
  );
}

function View() {
  const { session } = useAppState("session");
  const address = useAddress();
  switch (session) {
    case "unknown":
      return <Splash />;
    case "signed_out":
      return <Entrance />;
    case "signed_in":
      return (
        <>
          {isSetup(address) ? <Wizard /> : <Workbench />}
          <PasswordPrompt />
        </>
      );
  }
}
