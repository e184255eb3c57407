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
import type { ComponentType } from "react";
import { type Prepared, prepared } from "./prepared";

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
  view: Prepared<ComponentType>;
}

export const SECTIONS: Section[] = [
  { id: "general", icon: SlidersHorizontal, group: "you", view: prepared(() => import("./General")) },
  { id: "appearance", icon: Palette, group: "you", view: prepared(() => import("./Appearance")) },
  { id: "account", icon: CircleUser, group: "you", view: prepared(() => import("./Account")) },
  { id: "runners", icon: Server, group: "work", view: prepared(() => import("./runners/Runners")) },
  { id: "models", icon: Brain, group: "work", view: prepared(() => import("./models/Models")) },
  { id: "approvals", icon: ShieldCheck, group: "work", view: prepared(() => import("./Approvals")) },
  { id: "hooks", icon: Webhook, group: "work", view: prepared(() => import("./Hooks")) },
  { id: "mcp", icon: Plug, group: "work", view: prepared(() => import("./mcp/McpServers")) },
  { id: "trust", icon: BadgeCheck, group: "work", view: prepared(() => import("./Trust")) },
  { id: "http", icon: ArrowLeftRight, group: "work", view: prepared(() => import("./http/HttpTools")) },
  { id: "plugins", icon: Blocks, group: "work", view: prepared(() => import("./plugins/Plugins")) },
  { id: "automations", icon: CalendarClock, group: "work", view: prepared(() => import("./automations/Automations")) },
  { id: "channels", icon: MessagesSquare, group: "work", view: prepared(() => import("./channels/Channels")) },
  { id: "knowledge", icon: LibraryBig, group: "work", view: prepared(() => import("./knowledge/Knowledge")) },
  { id: "memory", icon: NotebookPen, group: "work", view: prepared(() => import("./Memories")) },
  { id: "usage", icon: ChartColumn, group: "work", view: prepared(() => import("./Usage")) },
  { id: "keys", icon: KeyRound, group: "server", view: prepared(() => import("./Keys")) },
  { id: "users", icon: Users, group: "server", admin: true, view: prepared(() => import("./users/Users")) },
  { id: "server", icon: ServerCog, group: "server", admin: true, view: prepared(() => import("./ServerSettings")) },
  { id: "nodes", icon: Network, group: "server", admin: true, view: prepared(() => import("./Nodes")) },
  { id: "audit", icon: ScrollText, group: "server", view: prepared(() => import("./Audit")) },
  { id: "about", icon: Info, group: "server", view: prepared(() => import("./About")) },
];

/** The sections that a user sees. */
export function sectionsFor(admin: boolean): Section[] {
  return SECTIONS.filter((section) => admin || !section.admin);
}
