/** What any room may ask of the page around it. */
import { createContext, useContext } from "react";
import type { Panel } from "../panels";

export interface Frame {
  /** Opens the settings at a section; at their list, or the first one, without. */
  openSettings: (section?: string) => void;
  /** The open panel. */
  panel: Panel["id"] | null;
  showPanel: (panel: Panel["id"] | null) => void;
  /** Opens one of what floats over the page. */
  showOverlay: (overlay: Overlay | null) => void;
  /** Puts the focus where a message is written. */
  focusComposer: () => void;
}

export type Overlay = "palette" | "shortcuts";

export const FrameContext = createContext<Frame | null>(null);

export function useFrame(): Frame {
  const frame = useContext(FrameContext);
  if (frame === null) throw new Error("useFrame needs a Workbench above it");
  return frame;
}
