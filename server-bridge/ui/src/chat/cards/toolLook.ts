/** The icons and the words of a tool's card, by the tool's name. Pure. */
import type { TFunction } from "i18next";
import { Bot, FilePen, FilePlus, FileText, FolderSearch, GitBranch, Globe, LayoutList, ListTodo, type LucideIcon, MessageCircleQuestion, Search, Terminal, Wrench } from "lucide-react";
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
};

/** The tools that have a plain name; those of MCP servers and skills keep their own. */
const NAMED = [
  "Shell",
  "FileCreate",
  "FileReplace",
  "Read",
  "Glob",
  "Grep",
  "Cd",
  "DownloadFile",
  "SubAgent",
  "SubAgentResume",
  "Worktree",
  "AskUser",
  "WebSearch",
  "Fetch",
  "Skill",
  "ChatHistory",
  "card_create",
  "card_add_content",
  "card_add_interactive",
  "card_add_container",
  "card_preview",
  "card_send",
  "config",
  "context_edit",
  "memory_edit",
  "memory_list",
  "memory_search",
  "memory_write",
  "core_memory_append",
  "core_memory_replace",
  "archival_memory_insert",
  "archival_memory_search",
  "recall_memory_search",
  "offload_recall",
  "recall_masked",
  "task_kill",
  "task_read",
  "task_status",
  "todo_list",
  "todo_write",
] as const;

/** The tools whose plain name does not fit into a question, which names what they do instead. */
const ACTS = [
  "SubAgent",
  "SubAgentResume",
  "Worktree",
  "AskUser",
  "WebSearch",
  "Skill",
  "ChatHistory",
  "Cd",
  "FileCreate",
  "FileReplace",
  "DownloadFile",
  "Read",
  "Glob",
  "Grep",
  "Fetch",
  "config",
  "context_edit",
  "task_kill",
  "task_read",
  "task_status",
  "memory_edit",
  "memory_list",
  "memory_search",
  "memory_write",
  "core_memory_append",
  "core_memory_replace",
  "archival_memory_insert",
  "archival_memory_search",
  "recall_memory_search",
  "offload_recall",
  "recall_masked",
  "todo_list",
  "todo_write",
  "card_create",
  "card_add_content",
  "card_add_interactive",
  "card_add_container",
  "card_preview",
  "card_send",
] as const;

const COMPACT = ["Read", "Glob", "Grep"];

export function iconOf(tool: string): LucideIcon {
  return ICONS[tool] ?? Wrench;
}

/** The tool's plain name: the heading of its card. */
export function nameOf(tool: string, t: TFunction<"chat">): string {
  const known = NAMED.find((name) => name === tool);
  return known === undefined ? tool : t(`toolName.${known}`);
}

/** A tool within a question: "Allow … on laptop?". */
export function actOf(tool: string, t: TFunction<"chat">): string {
  const known = ACTS.find((name) => name === tool);
  return known === undefined ? nameOf(tool, t) : t(`toolAct.${known}`);
}

/** The number of lines of its result that are shown at first. */
export function linesAtFirst(tool: string): number | undefined {
  return COMPACT.includes(tool) ? COMPACT_LINES_COUNT : undefined;
}
