/**
 * Draws Mermaid diagrams in a separate document, which is in a frame of the page: Mermaid needs style elements, which the page's
 * content security policy refuses. This document's policy allows them, and no connection at all; the page gets the drawing as an image.
 */
import mermaid from "mermaid";
import { DIAGRAM_MAX_CHARS, DIAGRAM_MAX_EDGES } from "../limits";
import type { Drawn, Wanted } from "./protocol";

/** One at a time: Mermaid's settings are global. */
let last: Promise<void> = Promise.resolve();

window.addEventListener("message", ({ origin, source, data }: MessageEvent<Wanted>) => {
  if (origin !== window.location.origin || source !== window.parent) return;
  last = last.then(async () => window.parent.postMessage(await drawn(data), origin));
});
window.parent.postMessage("ready", window.location.origin);

async function drawn({ id, source, isDark }: Wanted): Promise<Drawn> {
  try {
    mermaid.initialize({
      startOnLoad: false,
      securityLevel: "strict",
      // Settings that no diagram may change, in addition to Mermaid's own list.
      secure: ["secure", "securityLevel", "startOnLoad", "maxTextSize", "suppressErrorRendering", "maxEdges", "htmlLabels", "themeCSS", "fontFamily"],
      suppressErrorRendering: true,
      htmlLabels: false,
      flowchart: { htmlLabels: false },
      maxTextSize: DIAGRAM_MAX_CHARS,
      maxEdges: DIAGRAM_MAX_EDGES,
      theme: isDark ? "dark" : "default",
      fontFamily: "sans-serif",
    });
    const { svg } = await mermaid.render(`diagram-${id}`, source);
    return { id, svg };
  } catch {
    return { id };
  } finally {
    document.body.replaceChildren();
  }
}
