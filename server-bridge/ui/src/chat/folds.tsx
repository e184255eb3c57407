/** The cards that the reader opened or closed, kept while the chat is open: a card that is scrolled away is unmounted. */
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

const Folds = createContext<Map<string, boolean>>(new Map());

export function FoldsProvider({ children }: { children: ReactNode }) {
  const [folds] = useState(() => new Map<string, boolean>());
  return <Folds value={folds}>{children}</Folds>;
}

/** A fold that is open unless the reader decided otherwise, and a function to change it. */
export function useFold(name: string, isOpen: boolean): [boolean, () => void] {
  const folds = useContext(Folds);
  const [, showAnew] = useState(0);
  const open = folds.get(name) ?? isOpen;
  const toggle = useCallback(() => {
    folds.set(name, !open);
    showAnew((count) => count + 1);
  }, [folds, name, open]);
  return [open, toggle];
}
