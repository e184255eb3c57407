/**
 * Starts the Sandbridge web app. Modules: `frame` (the page around everything, login), `chats` (the list), `chat` (the open
 * one), `where` (the active runner), `panels` (terminal, files, tasks), `settings`, `setup` (the first run); below them `kit`
 * (plain components), `state` (the page's state, pure), `i18n` (texts) and `api`, `events` (the server).
 */
import "./kit/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./frame/App";
import { startLanguage } from "./i18n";
import { keptSize, keptTheme, showSize, showTheme } from "./lib/appearance";
import { takeLoginReturn } from "./lib/loginReturn";
import { SessionProvider } from "./state/context";

// Before anything else, since the address may contain a code that is as sensitive as a password.
const loginReturn = takeLoginReturn();

const root = document.getElementById("root");
if (root === null) throw new Error("index.html has no #root");
showTheme(keptTheme());
showSize(keptSize());
await startLanguage();
createRoot(root).render(
  <StrictMode>
    <SessionProvider loginReturn={loginReturn}>
      <App />
    </SessionProvider>
  </StrictMode>,
);
