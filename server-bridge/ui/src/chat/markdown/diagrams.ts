/** The frame that draws diagrams, created for the first diagram and then kept. */
import type { Drawn, Wanted } from "../../diagram/protocol";
import { DIAGRAM_MAX_CHARS, DIAGRAM_WAIT_MS } from "../../limits";

let frame: Promise<HTMLIFrameElement> | null = null;
let count = 0;

/** The image of a diagram: its address and size; null if the source is not a diagram, is too long, or is not drawn in time. */
export interface Picture {
  address: string;
  width: number;
  height: number;
}

export async function picture(source: string, isDark: boolean): Promise<Picture | null> {
  if (source.trim() === "" || source.length > DIAGRAM_MAX_CHARS) return null;
  const stop = AbortSignal.timeout(DIAGRAM_WAIT_MS);
  frame ??= ready(stop);
  const there = await frame.catch(() => null);
  if (there === null) {
    // The next diagram tries to load it again.
    frame = null;
    document.querySelector(".diagram-frame")?.remove();
    return null;
  }
  count += 1;
  const wanted: Wanted = { id: count, source, isDark };
  const drawn = await answerOf(there, wanted, stop);
  return drawn?.svg === undefined ? null : pictureOf(drawn.svg);
}

/** Turns a drawing into an image, in which it can neither run code nor load anything. */
export function pictureOf(svg: string): Picture | null {
  // Not parsed here: its styles would apply to this page, whose policy refuses them.
  const box = /^<svg[^>]* viewBox="([^"]*)"/.exec(svg)?.[1];
  const [, , width, height] = (box ?? "").split(/\s+/).map(Number);
  if (!width || !height) return null;
  const sized = svg.replace(/^<svg([^>]*?) width="[^"]*"/, `<svg$1 width="${width}" height="${height}"`);
  return { address: `data:image/svg+xml;charset=utf-8,${encodeURIComponent(sized)}`, width, height };
}

function answerOf(there: HTMLIFrameElement, wanted: Wanted, stop: AbortSignal): Promise<Drawn | null> {
  return new Promise((resolve) => {
    const end = (drawn: Drawn | null) => {
      window.removeEventListener("message", hear);
      resolve(drawn);
    };
    const hear = ({ source, data }: MessageEvent<Drawn>) => {
      if (source === there.contentWindow && data.id === wanted.id) end(data);
    };
    stop.addEventListener("abort", () => end(null));
    window.addEventListener("message", hear);
    there.contentWindow?.postMessage(wanted, window.location.origin);
  });
}

function ready(stop: AbortSignal): Promise<HTMLIFrameElement> {
  const element = document.createElement("iframe");
  element.src = "/diagram.html";
  element.className = "diagram-frame";
  element.tabIndex = -1;
  element.ariaHidden = "true";
  element.title = "diagram";
  return new Promise((resolve, reject) => {
    const hear = ({ source, data }: MessageEvent<unknown>) => {
      if (source !== element.contentWindow || data !== "ready") return;
      window.removeEventListener("message", hear);
      resolve(element);
    };
    window.addEventListener("message", hear);
    stop.addEventListener("abort", () => {
      // After the frame has answered, this has no effect, and the frame is kept.
      window.removeEventListener("message", hear);
      reject(new Error("the frame for diagrams did not load in time"));
    });
    document.body.append(element);
  });
}
