/** Keeps a scrolled view at its end while content arrives and its size changes, unless the user scrolled up. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from "react";
import { STICK_TO_END_PX } from "../limits";

export function useStickToEnd<T extends HTMLElement>(content: unknown): [ref: RefObject<T | null>, onScroll: () => void] {
  const ref = useRef<T>(null);
  const following = useRef(true);
  const onScroll = useCallback(() => {
    const view = ref.current;
    if (view) following.current = view.scrollHeight - view.scrollTop - view.clientHeight < STICK_TO_END_PX;
  }, []);
  const follow = useCallback(() => {
    const view = ref.current;
    if (view && following.current) view.scrollTop = view.scrollHeight;
  }, []);
  useLayoutEffect(follow, [follow, content]);
  useEffect(() => {
    if (ref.current === null) return;
    const observer = new ResizeObserver(follow);
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [follow]);
  return [ref, onScroll];
}
