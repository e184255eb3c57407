import { DropdownMenu } from "radix-ui";
import { createContext, type ReactNode, useContext } from "react";

/** The element that contains the open menus: it lies within a landmark, so that screen readers list them as a part of the page. */
export const MenuPlace = createContext<HTMLElement | null>(null);

/** Shows an open menu above the page. */
export function MenuPortal({ children }: { children: ReactNode }) {
  return <DropdownMenu.Portal container={useContext(MenuPlace)}>{children}</DropdownMenu.Portal>;
}
