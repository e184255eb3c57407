/** The tree of one place; each directory is loaded when it is opened. */
import { type Dispatch, useCallback, useEffect, useLayoutEffect, useReducer, useRef } from "react";
import { errorText } from "../../api";
import { type Path, WORKSPACE, keyOf, parent } from "./path";
import { files } from "./requests";
import { EMPTY_TREE, type Tree, type TreeAction, reduceTree, rowsOf } from "./tree";

export interface TreeHandle {
  tree: Tree;
  open: (path: Path) => void;
  close: (path: Path) => void;
  more: (path: Path) => void;
  /** Opens all directories above a path. */
  reveal: (path: Path) => void;
  /** Loads a directory again. */
  reload: (path: Path) => Promise<void>;
  /** Loads everything on screen again. */
  refresh: () => void;
}

export function useTree(place: string): TreeHandle {
  const [tree, dispatch] = useReducer(reduceTree, EMPTY_TREE);
  const latest = useRef(tree);
  useLayoutEffect(() => {
    latest.current = tree;
  }, [tree]);
  const reload = useLoader(place, dispatch);

  const open = useCallback(
    (path: Path) => {
      dispatch({ type: "opened", path });
      void reload(path);
    },
    [reload],
  );
  const reveal = useCallback(
    (path: Path) => {
      for (let at = parent(path); at !== null && at.text !== ""; at = parent(at)) open(at);
    },
    [open],
  );
  const refresh = useCallback(() => {
    void reload(WORKSPACE);
    for (const row of rowsOf(latest.current, true)) if (row.kind === "entry" && row.isOpen) void reload(row.path);
  }, [reload]);
  useEffect(() => void reload(WORKSPACE), [reload]);

  const close = useCallback((path: Path) => dispatch({ type: "closed", path }), []);
  const more = useCallback((path: Path) => dispatch({ type: "more", path }), []);
  return { tree, open, close, more, reveal, reload, refresh };
}

function useLoader(place: string, dispatch: Dispatch<TreeAction>): (path: Path) => Promise<void> {
  const asked = useRef(new Map<string, number>());
  return useCallback(
    async (path: Path) => {
      const key = keyOf(path);
      const number = (asked.current.get(key) ?? 0) + 1;
      asked.current.set(key, number);
      // An answer that was overtaken by a later request is outdated.
      const isLatest = () => asked.current.get(key) === number;
      try {
        const entries = await files.list(place, path);
        if (isLatest()) dispatch({ type: "listed", path, entries });
      } catch (error) {
        if (isLatest()) dispatch({ type: "failed", path, error: errorText(error) });
      }
    },
    [place, dispatch],
  );
}
