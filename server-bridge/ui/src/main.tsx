/** Starts the Sandbridge web app: `state/` knows, `components/` show, `api` and `events` talk to the server. */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { SessionProvider } from "./state/context";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/chat.css";
import "./styles/settings.css";

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
createRoot(root).render(
  <StrictMode>
    <SessionProvider>
      <App />
    </SessionProvider>
  </StrictMode>,
);
