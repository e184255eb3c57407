/** The colours of terminals: those of `terminal.module.css`, for light and dark pages. */
import type { ITheme } from "@xterm/xterm";
import styles from "./terminal.module.css";

const ANSI = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;

/** Reads the current colours. */
export function readTheme(): ITheme {
  const probe = document.createElement("span");
  probe.className = styles.terminalColours ?? "";
  document.body.append(probe);
  const colour = (name: string) => {
    probe.style.color = `var(--term-${name})`;
    return window.getComputedStyle(probe).color;
  };
  const theme: ITheme = {
    background: colour("ground"),
    foreground: colour("text"),
    cursor: colour("cursor"),
    cursorAccent: colour("ground"),
    selectionBackground: colour("selection"),
    scrollbarSliderBackground: colour("slider"),
    scrollbarSliderHoverBackground: colour("slider"),
    scrollbarSliderActiveBackground: colour("slider"),
  };
  for (const name of ANSI) {
    theme[name] = colour(name);
    theme[`bright${name.charAt(0).toUpperCase()}${name.slice(1)}` as keyof ITheme & `bright${string}`] = colour(`bright-${name}`);
  }
  probe.remove();
  return theme;
}
