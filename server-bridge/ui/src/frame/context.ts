/** The functions of the surrounding page that any module may call. */
import { createContext, useContext } from "react";
import type { Panel } from "../panels";

export interface Frame {
  /** Opens a section of the settings; without an argument, the list of sections or, on a wide page, the first section. */
  openSettings: (section?: string) => void;
  /** The id of the open panel; null if none is open. */
  panel: Panel["id"] | null;
  showPanel: (panel: Panel["id"] | null) => void;
  /** Opens an overlay over the page. */
  showOverlay: (overlay: Overlay | null) => void;
  /** Focuses the composer. */
  focusComposer: () => void;
}

export type Overlay = "palette" | "shortcuts";

export const FrameContext = createContext<Frame | null>(null);

export function useFrame(): Frame {
  const frame = useContext(FrameContext);
  if (frame === null) throw new Error("useFrame needs a Workbench above it");
  return frame;
}
