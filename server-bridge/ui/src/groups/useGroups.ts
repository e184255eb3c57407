/** Data about groups, loaded again whenever an event reports a change. */
import { type Loaded, useLoaded } from "../lib/useLoaded";
import { useSelected } from "../state/context";

/** One kind of data about a group, named by `what`. */
export function useOfGroup<T>(group: number, what: string, load: () => Promise<T>): Loaded<T> {
  const news = useSelected((state) => `${state.group_reconnects} ${state.group_news[group] ?? 0}`);
  return useLoaded(["group", group, what], load, news);
}

/** The list of groups, which changes with any of them. */
export function useGroupList<T>(load: () => Promise<T>): Loaded<T> {
  const news = useSelected((state) => `${state.group_reconnects} ${Object.values(state.group_news).reduce((sum, count) => sum + count, 0)}`);
  return useLoaded(["groups"], load, news);
}
