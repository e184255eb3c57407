/** The icon and the texts of a tool's card, by the tool's name. Pure. */
import type { TFunction } from "i18next";
import { Bot, FilePen, FilePlus, FileText, FolderSearch, GitBranch, Globe, LayoutList, ListTodo, type LucideIcon, MessageCircleQuestion, Search, SquareTerminal, Terminal, Wrench } from "lucide-react";
import { chat as english } from "../../i18n/en/chat";
import { COMPACT_LINES_COUNT } from "../../limits";

const ICONS: Record<string, LucideIcon> = {
  Shell: Terminal,
  FileCreate: FilePlus,
  FileReplace: FilePen,
  Read: FileText,
  Glob: FolderSearch,
  Grep: Search,
  SubAgent: Bot,
  SubAgentResume: Bot,
  Worktree: GitBranch,
  AskUser: MessageCircleQuestion,
  WebSearch: Globe,
  Fetch: Globe,
  card_send: LayoutList,
  todo_list: ListTodo,
  todo_write: ListTodo,
  tui_control: SquareTerminal,
};

const COMPACT = ["Read", "Glob", "Grep"];

function isKeyOf<T extends object>(texts: T, tool: string): tool is keyof T & string {
  return Object.hasOwn(texts, tool);
}

export function iconOf(tool: string): LucideIcon {
  return ICONS[tool] ?? Wrench;
}

/** The tool's display name, which is the heading of its card; tools of MCP servers and skills keep their own names. */
export function nameOf(tool: string, t: TFunction<"chat">): string {
  return isKeyOf(english.toolName, tool) ? t(`toolName.${tool}`) : tool;
}

/** The text for a tool in the question "Allow … on laptop?": its display name, or its action where the name does not fit. */
export function actOf(tool: string, t: TFunction<"chat">): string {
  return isKeyOf(english.toolAct, tool) ? t(`toolAct.${tool}`) : nameOf(tool, t);
}

/** The number of lines of the tool's result that are shown at first; undefined for all. */
export function linesAtFirst(tool: string): number | undefined {
  return COMPACT.includes(tool) ? COMPACT_LINES_COUNT : undefined;
}
