/**
 * The panels next to the chat. Each is a separate chunk, loaded when it is first opened, so that panels do not slow down the
 * first view.
 */
import { FolderTree, ListChecks, type LucideIcon, SquareTerminal } from "lucide-react";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

export interface Panel {
  /** Also the key of the panel's title in the texts of `panels`. */
  id: "terminal" | "files" | "tasks";
  icon: LucideIcon;
  View: LazyExoticComponent<ComponentType>;
}

/** All panels, in the order of their buttons. */
export const PANELS: Panel[] = [
  { id: "terminal", icon: SquareTerminal, View: lazy(() => import("./terminal/TerminalPanel")) },
  { id: "files", icon: FolderTree, View: lazy(() => import("./files/FilesPanel")) },
  { id: "tasks", icon: ListChecks, View: lazy(() => import("./tasks/TasksPanel")) },
];
