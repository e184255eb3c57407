import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { MenuPortal } from "./MenuPortal";
import styles from "./Menu.module.css";

export interface MenuItem {
  label: string;
  onSelect: () => void;
  danger?: boolean;
}

interface Props {
  /** The button that opens the menu. */
  trigger: ReactNode;
  items: MenuItem[];
}

/** A button with a menu of actions; arrow keys, typing ahead and Escape work as in any menu. */
export function Menu({ trigger, items }: Props) {
  // Not modal: a modal menu adds a style element, which the page's content security policy forbids.
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <MenuPortal>
        <DropdownMenu.Content className={styles.menu} align="end" sideOffset={4}>
          {items.map((item) => (
            <DropdownMenu.Item key={item.label} className={item.danger ? `${styles.menuItem} danger` : styles.menuItem} onSelect={item.onSelect}>
              {item.label}
            </DropdownMenu.Item>
          ))}
        </DropdownMenu.Content>
      </MenuPortal>
    </DropdownMenu.Root>
  );
}
