/** The sections of the settings, in their order. Each is a separate chunk; its id is part of its address, `#/settings/ID`. */
import {
  BadgeCheck,
  ArrowLeftRight,
  Blocks,
  Brain,
  CalendarClock,
  ChartColumn,
  CircleUser,
  Info,
  KeyRound,
  LibraryBig,
  type LucideIcon,
  MessagesSquare,
  Network,
  NotebookPen,
  Palette,
  Plug,
  ScrollText,
  Server,
  ServerCog,
  ShieldCheck,
  SlidersHorizontal,
  Users,
  Webhook,
} from "lucide-react";
import { type ComponentType, lazy, type LazyExoticComponent } from "react";

export interface Section {
  id:
    | "general"
    | "appearance"
    | "account"
    | "runners"
    | "models"
    | "approvals"
    | "hooks"
    | "mcp"
    | "trust"
    | "http"
    | "plugins"
    | "automations"
    | "channels"
    | "knowledge"
    | "memory"
    | "usage"
    | "keys"
    | "users"
    | "server"
    | "nodes"
    | "audit"
    | "about";
  icon: LucideIcon;
  group: "you" | "work" | "server";
  /** True if only administrators see the section. */
  admin?: boolean;
  View: LazyExoticComponent<ComponentType>;
}

export const SECTIONS: Section[] = [
  { id: "general", icon: SlidersHorizontal, group: "you", View: lazy(() => import("./General")) },
  { id: "appearance", icon: Palette, group: "you", View: lazy(() => import("./Appearance")) },
  { id: "account", icon: CircleUser, group: "you", View: lazy(() => import("./Account")) },
  { id: "runners", icon: Server, group: "work", View: lazy(() => import("./runners/Runners")) },
  { id: "models", icon: Brain, group: "work", View: lazy(() => import("./models/Models")) },
  { id: "approvals", icon: ShieldCheck, group: "work", View: lazy(() => import("./Approvals")) },
  { id: "hooks", icon: Webhook, group: "work", View: lazy(() => import("./Hooks")) },
  { id: "mcp", icon: Plug, group: "work", View: lazy(() => import("./mcp/McpServers")) },
  { id: "trust", icon: BadgeCheck, group: "work", View: lazy(() => import("./Trust")) },
  { id: "http", icon: ArrowLeftRight, group: "work", View: lazy(() => import("./http/HttpTools")) },
  { id: "plugins", icon: Blocks, group: "work", View: lazy(() => import("./plugins/Plugins")) },
  { id: "automations", icon: CalendarClock, group: "work", View: lazy(() => import("./automations/Automations")) },
  { id: "channels", icon: MessagesSquare, group: "work", View: lazy(() => import("./channels/Channels")) },
  { id: "knowledge", icon: LibraryBig, group: "work", View: lazy(() => import("./knowledge/Knowledge")) },
  { id: "memory", icon: NotebookPen, group: "work", View: lazy(() => import("./Memories")) },
  { id: "usage", icon: ChartColumn, group: "work", View: lazy(() => import("./Usage")) },
  { id: "keys", icon: KeyRound, group: "server", View: lazy(() => import("./Keys")) },
  { id: "users", icon: Users, group: "server", admin: true, View: lazy(() => import("./users/Users")) },
  { id: "server", icon: ServerCog, group: "server", admin: true, View: lazy(() => import("./ServerSettings")) },
  { id: "nodes", icon: Network, group: "server", admin: true, View: lazy(() => import("./Nodes")) },
  { id: "audit", icon: ScrollText, group: "server", View: lazy(() => import("./Audit")) },
  { id: "about", icon: Info, group: "server", View: lazy(() => import("./About")) },
];

/** The sections that a user sees. */
export function sectionsFor(admin: boolean): Section[] {
  return SECTIONS.filter((section) => admin || !section.admin);
}
