import { ChevronDown } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ReactNode } from "react";
import { MenuPortal } from "../../kit/MenuPortal";
import styles from "../composer/composer.module.css";
import menus from "../../kit/Menu.module.css";

export interface Choice {
  value: string;
  label: string;
  /** An explanation, shown below the label. */
  about?: string;
}

interface Props {
  /** The name of the choice, for screen readers. */
  name: string;
  value: string;
  choices: Choice[];
  icon: ReactNode;
  onOpen?: () => void;
  onChoose: (value: string) => void;
}

/** A small button that shows the choice, with a menu to change it. */
export function Picker({ name, value, choices, icon, onOpen, onChoose }: Props) {
  const chosen = choices.find((choice) => choice.value === value);
  return (
    <DropdownMenu.Root modal={false} onOpenChange={(open) => open && onOpen?.()}>
      <DropdownMenu.Trigger asChild>
        <button type="button" className={`quiet ${styles.picker}`} aria-label={`${name}: ${chosen?.label ?? value}`} title={name}>
          {icon}
          <span>{chosen?.label ?? value}</span>
          <ChevronDown aria-hidden="true" />
        </button>
      </DropdownMenu.Trigger>
      <MenuPortal>
        <DropdownMenu.Content className={`${menus.menu} ${styles.pickerMenu}`} align="start" side="top" sideOffset={4} collisionPadding={8}>
          <DropdownMenu.RadioGroup value={value} onValueChange={onChoose}>
            {choices.map((choice) => (
              <DropdownMenu.RadioItem key={choice.value} value={choice.value} className={menus.menuItem}>
                <span className={styles.label}>{choice.label}</span>
                {choice.about !== undefined && <span className="hint">{choice.about}</span>}
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
        </DropdownMenu.Content>
      </MenuPortal>
    </DropdownMenu.Root>
  );
}
