/**
 * The panels beside the chat. Each is a chunk of its own, loaded when it is first opened, so that none of them costs the
 * first view anything.
 */
import { FolderTree, ListChecks, type LucideIcon, SquareTerminal } from "lucide-react";
import { type ComponentType, type LazyExoticComponent, lazy } from "react";

export interface Panel {
  /** Also its key in the words of the module `panels`. */
  id: "terminal" | "files" | "tasks";
  icon: LucideIcon;
  View: LazyExoticComponent<ComponentType>;
}

/** In the order of their buttons. */
export const PANELS: Panel[] = [
  { id: "terminal", icon: SquareTerminal, View: lazy(() => import("./terminal/TerminalPanel")) },
  { id: "files", icon: FolderTree, View: lazy(() => import("./files/FilesPanel")) },
  { id: "tasks", icon: ListChecks, View: lazy(() => import("./tasks/TasksPanel")) },
];
