import { Dialog as Radix } from "radix-ui";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { classes } from "../lib/classes";
import styles from "./Dialog.module.css";

interface Props {
  title: string;
  /** The dialog's form; a `drawer` is at the right edge, as high as the page. */
  shape?: "window" | "drawer" | "page" | "palette";
  /** True if the title is only for screen readers. */
  titleUnseen?: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A modal dialog, open while mounted: the focus stays inside, Escape and a click outside close it. */
export function Dialog({ title, shape = "window", titleUnseen = false, onClose, children }: Props) {
  const { t } = useTranslation("frame");
  return (
    <Radix.Root open onOpenChange={(open) => !open && onClose()}>
      <Radix.Portal>
        {/* Radix's own overlay adds a style element, which the page's content security policy forbids. */}
        <div className={styles.dialogShade} aria-hidden="true" />
        <Radix.Content
          className={classes(styles.dialog, styles[shape])}
          aria-describedby={undefined}
          onOpenAutoFocus={(event) => {
            // Focuses the dialog itself, since its first button is the close button.
            event.preventDefault();
            if (event.currentTarget instanceof HTMLElement) event.currentTarget.focus();
          }}
        >
          <header className={titleUnseen ? "unseen" : undefined}>
            <Radix.Title>{title}</Radix.Title>
            <Radix.Close className="quiet icon" aria-label={t("close")}>
              <X aria-hidden="true" />
            </Radix.Close>
          </header>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
