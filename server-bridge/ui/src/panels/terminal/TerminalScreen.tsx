import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { terminals } from "./terminals";
import styles from "./terminal.module.css";

/** Shows a terminal's screen on the page. */
export function TerminalScreen({ id }: { id: string }) {
  const { t } = useTranslation("panels");
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const session = terminals.find(id);
    if (place.current === null || session === undefined) return;
    session.mount(place.current);
    session.screen.focus();
    let frame = 0;
    const observer = new ResizeObserver(() => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => session.screen.fit());
    });
    observer.observe(place.current);
    return () => {
      cancelAnimationFrame(frame);
      observer.disconnect();
      session.screen.host.remove();
    };
  }, [id]);
  const type = (text: string) => {
    const screen = terminals.find(id)?.screen;
    screen?.type(text);
    screen?.focus();
  };
  return (
    <>
      <div className={styles.terminalPlace} ref={place} role="region" aria-label={t("term.screen")} data-testid="terminal-screen" />
      <div className={styles.touchKeys} role="toolbar" aria-label={t("term.keys")}>
        {TOUCH_KEYS.map(([label, text]) => (
          <button type="button" key={label} onPointerDown={(event) => event.preventDefault()} onClick={() => type(text)}>
            {label}
          </button>
        ))}
      </div>
    </>
  );
}

/** The keys that a phone's keyboard lacks. */
const TOUCH_KEYS: [string, string][] = [
  ["Esc", "\u001b"],
  ["Tab", "\t"],
  ["Ctrl+C", "\u0003"],
  ["Ctrl+D", "\u0004"],
  ["Ctrl+Z", "\u001a"],
  ["←", "\u001b[D"],
  ["↑", "\u001b[A"],
  ["↓", "\u001b[B"],
  ["→", "\u001b[C"],
];
