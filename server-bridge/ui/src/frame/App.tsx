import { LoginForm } from "./LoginForm";
import { Splash } from "./Splash";
import { Workbench } from "./Workbench";
import { useAppState } from "../state/context";

export function App() {
  const { session } = useAppState();
  switch (session) {
    case "unknown":
      return <Splash />;
    case "signed_out":
      return <LoginForm />;
    case "signed_in":
      return <Workbench />;
  }
}
