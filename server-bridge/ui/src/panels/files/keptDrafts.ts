/** The drafts of this page. The browser asks before the user leaves a page with unsaved text. */
import { Drafts } from "./drafts";

export const drafts = new Drafts(window.sessionStorage);

window.addEventListener("beforeunload", (event) => {
  if (!drafts.isEmpty) event.preventDefault();
});
