/** The cards that the user opened or closed. Kept outside the cards, because a card that is scrolled out of view is unmounted. */
import { createContext, type ReactNode, useCallback, useContext, useState } from "react";

const Folds = createContext<Map<string, boolean>>(new Map());

export function FoldsProvider({ children }: { children: ReactNode }) {
  const [folds] = useState(() => new Map<string, boolean>());
  return <Folds value={folds}>{children}</Folds>;
}

/** The state of a fold (`isOpen` until the user changes it), and a function that toggles it. */
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
