/**
 * Starts the Sandbridge web app. Modules: `frame` (the page around everything, login), `chats` (the list), `chat` (the open
 * one), `where` (the active runner), `panels` (terminal, files, tasks), `settings`, `setup` (the first run); below them `kit`
 * (plain components), `state` (the page's state, pure), `i18n` (words) and `api`, `events` (the server).
 */
import "./kit/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./frame/App";
import { startLanguage } from "./i18n";
import { keptSize, keptTheme, showSize, showTheme } from "./lib/appearance";
import { takeLoginReturn } from "./lib/loginReturn";
import { SessionProvider } from "./state/context";

// First of all: the address may hold what is as good as a password.
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
