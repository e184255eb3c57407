import type { Room } from "../words";

export const chats: Room<"chats"> = {
  title: "会话",
  newChat: "新建会话",
  search: "搜索会话",
  clearSearch: "清除搜索",
  searching: "正在搜索会话内容…",
  found_one: "找到 {{count}} 个会话",
  found_other: "找到 {{count}} 个会话",
  none: "还没有会话",
  running: "运行中",
  asking: "等待你的回答",
  bound: "固定在 {{place}}",
  actionsOf: "“{{title}}”的操作",
  rename: "重命名",
  titleOf: "会话标题",
  fork: "在副本中继续",
  exportMarkdown: "导出为 Markdown",
  exportJson: "导出为 JSON",
  delete: "删除",
  deleteQuestion: "删除“{{title}}”？",
  deleteNote: "其中的消息将永久删除，仍在运行的任务会被取消。",
  days: {
    today: "今天",
    yesterday: "昨天",
    week: "最近 7 天",
  },
};
