import { LoginForm } from "./components/LoginForm";
import { Splash } from "./components/Splash";
import { Workbench } from "./components/Workbench";
import { useAppState } from "./state/context";

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
