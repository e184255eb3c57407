/** What a tool's card looks like, by the tool's name. Pure. */
import { Bot, FilePen, FilePlus, FileText, FolderSearch, Globe, ListTodo, type LucideIcon, MessageCircleQuestion, Search, Terminal, Wrench } from "lucide-react";
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
  AskUser: MessageCircleQuestion,
  WebSearch: Globe,
  Fetch: Globe,
  todo_list: ListTodo,
  todo_write: ListTodo,
};

const COMPACT = ["Read", "Glob", "Grep"];

export function iconOf(tool: string): LucideIcon {
  return ICONS[tool] ?? Wrench;
}

/** At first only so many lines of what it came to. */
export function linesAtFirst(tool: string): number | undefined {
  return COMPACT.includes(tool) ? COMPACT_LINES_COUNT : undefined;
}
