/** Which cards their reader opened or closed, kept while the chat is open: a card that is scrolled away is taken down. */
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

const Folds = createContext<Map<string, boolean>>(new Map());

export function FoldsProvider({ children }: { children: ReactNode }) {
  const [folds] = useState(() => new Map<string, boolean>());
  return <Folds value={folds}>{children}</Folds>;
}

/** Whether something is open, as long as its reader has said nothing else, and the way to say so. */
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
