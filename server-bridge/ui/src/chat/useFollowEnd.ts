/** Keeps a virtual list at its end while messages arrive and grow, until the user scrolls up. */
import { type UIEvent, useEffect, useRef, useState } from "react";
import { STICK_TO_END_PX } from "../limits";
import { follows, isNearEnd, onTurnedUp, type Look } from "./follow";

/**
 * Returns Virtuoso's props for this. Virtuoso compares only positions, so a message that grows past the end within one frame looks
 * like a user scrolling away; and while items grow, it repeats a scroll to an item even if the user has scrolled up meanwhile. Here
 * the user's wheel, fingers and keys end the following before the list has moved, and nothing but the list's end is ever scrolled to.
 */
export function useFollowEnd() {
  const [atEnd, setAtEnd] = useState(true);
  const [scroller, setScroller] = useState<HTMLElement | Window | null>(null);
  const following = useRef(true);
  const last = useRef<Look>({ top: 0, height: 0, shown: 0 });
  useEffect(() => {
    if (!(scroller instanceof HTMLElement)) return;
    return onTurnedUp(scroller, () => {
      following.current = false;
    });
  }, [scroller]);
  // The list's height as Virtuoso knows it: beyond that, it would draw nothing, and the list would collapse.
  const height = useRef(0);
  const follow = () => {
    if (following.current && scroller instanceof HTMLElement) scroller.scrollTo({ top: height.current - scroller.clientHeight });
  };
  return {
    atEnd,
    showEnd: () => {
      following.current = true;
      follow();
    },
    props: {
      scrollerRef: setScroller,
      onScroll: ({ currentTarget: { scrollTop: top, scrollHeight: height, clientHeight: shown } }: UIEvent<HTMLElement>) => {
        const now = { top, height, shown };
        following.current = follows(following.current, last.current, now);
        last.current = now;
        if (!following.current) setAtEnd(isNearEnd(now));
      },
      totalListHeightChanged: (total: number) => {
        height.current = total;
        follow();
      },
      atBottomThreshold: STICK_TO_END_PX,
      atBottomStateChange: (isAtEnd: boolean) => {
        if (!isAtEnd && following.current) follow();
        else setAtEnd(isAtEnd);
      },
    },
  };
}
