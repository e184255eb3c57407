/** Decides whether a list that follows its end goes on following it. */
import { STICK_TO_END_PX } from "../limits";

/** The position of a list: how far it is scrolled, its height, and the height of its visible part. */
export interface Look {
  top: number;
  height: number;
  shown: number;
}

export function isNearEnd({ top, height, shown }: Look): boolean {
  return height - shown - top <= STICK_TO_END_PX;
}

/**
 * True if the list follows its end after it was scrolled from `last` to `now`. Only a scroll downwards to the end begins it: the
 * first steps of a slow scroll upwards are near the end, too. A scroll far upwards ends it, unless the list became shorter.
 */
export function follows(following: boolean, last: Look, now: Look): boolean {
  const isShorter = now.height < last.height;
  if (now.top > last.top) return following || isNearEnd(now);
  // The browser moved the list to its end, since there is nothing more below.
  if (isShorter && now.height - now.shown - now.top < 1) return true;
  if (now.top < last.top && !isShorter && !isNearEnd(now)) return false;
  return following;
}

/** Keys that scroll a focused list up; the space bar does with Shift. */
const UP_KEYS = ["ArrowUp", "PageUp", "Home"];
/** Elements in which those keys do something else. */
const FIELDS = "input, textarea, select, [contenteditable], [role=menu], [role=dialog]";

/** Calls back as soon as the user begins to scroll a list upwards, before it has moved; returns a function that stops it. */
export function onTurnedUp(list: HTMLElement, turned: () => void): () => void {
  let touchedAt = 0;
  const check = (event: Event) => {
    if (canScrollUp(list) && !isTakenInside(event.target, list)) turned();
  };
  const listeners = {
    wheel: (event: WheelEvent) => {
      // With Ctrl, the wheel zooms the page.
      if (event.deltaY < 0 && !event.ctrlKey) check(event);
    },
    touchstart: (event: TouchEvent) => {
      touchedAt = event.touches[0]?.clientY ?? 0;
    },
    touchmove: (event: TouchEvent) => {
      if (event.touches.length === 1 && (event.touches[0]?.clientY ?? 0) > touchedAt) check(event);
    },
    keydown: (event: KeyboardEvent) => {
      const isUp = UP_KEYS.includes(event.key) || (event.key === " " && event.shiftKey);
      if (isUp && !event.defaultPrevented && !(event.target as Element).matches(FIELDS)) check(event);
    },
    pointerdown: (event: PointerEvent) => {
      // The scroll bar: dragging it down to the end follows the end again.
      if (event.target === list && event.offsetX >= list.clientWidth) check(event);
    },
  };
  const entries = Object.entries(listeners) as [keyof typeof listeners, (event: Event) => void][];
  for (const [name, listener] of entries) list.addEventListener(name, listener, { passive: true });
  return () => {
    for (const [name, listener] of entries) list.removeEventListener(name, listener);
  };
}

/** True if an element between the target and the list, such as a card's output, scrolls up in the list's place. */
function isTakenInside(target: EventTarget | null, list: HTMLElement): boolean {
  for (let element = target instanceof Element ? target : null; element !== null && element !== list; element = element.parentElement) {
    if (canScrollUp(element) && /auto|scroll/.test(getComputedStyle(element).overflowY)) return true;
  }
  return false;
}

function canScrollUp(element: Element): boolean {
  return element.scrollTop > 0 && element.scrollHeight > element.clientHeight;
}
