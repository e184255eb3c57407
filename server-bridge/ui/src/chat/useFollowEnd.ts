/** Keeps a virtual list at its end while messages arrive and grow, until the user scrolls up. */
import { type RefObject, type UIEvent, useRef, useState } from "react";
import type { VirtuosoHandle } from "react-virtuoso";
import { STICK_TO_END_PX } from "../limits";

/**
 * Returns Virtuoso's props for this. Virtuoso compares only positions, so a message that grows past the end within one frame looks
 * like a user scrolling away. Here only a scroll upwards, while the list does not become shorter, counts as leaving the end.
 */
export function useFollowEnd(list: RefObject<VirtuosoHandle | null>) {
  const [atEnd, setAtEnd] = useState(true);
  const following = useRef(true);
  const last = useRef({ top: 0, height: 0 });
  const showEnd = () => list.current?.scrollToIndex({ index: "LAST", align: "end" });
  const follow = () => {
    if (following.current) showEnd();
  };
  return {
    atEnd,
    showEnd,
    props: {
      onScroll: ({ currentTarget: { scrollTop: top, scrollHeight: height, clientHeight } }: UIEvent<HTMLElement>) => {
        if (height - clientHeight - top <= STICK_TO_END_PX) following.current = true;
        else if (top < last.current.top && height >= last.current.height) {
          following.current = false;
          setAtEnd(false);
        }
        last.current = { top, height };
      },
      followOutput: () => (following.current ? ("auto" as const) : false),
      totalListHeightChanged: follow,
      atBottomThreshold: STICK_TO_END_PX,
      atBottomStateChange: (isAtEnd: boolean) => {
        if (isAtEnd) setAtEnd(true);
        else if (following.current) showEnd();
        else setAtEnd(false);
      },
    },
  };
}
