import type { Room } from "../words";

export const where: Room<"where"> = {
  activeRunner: "当前运行器",
  bound: "此会话固定使用它，与当前运行器无关",
  docker: "Docker 容器",
  server: "本服务器",
  automatic: "自动",
  automaticNote: "使用你唯一的运行器；没有运行器时使用服务器提供的 Docker 容器",
  followNote: "跟随当前运行器",
  thisChat: "仅此会话…",
  manage: "管理运行器…",
  connect: "连接一台机器",
  undecided: "未选择机器",
  online: "在线",
  offline: "离线",
  refused: "已拒绝",
  unclear: "未选择",
  hints: {
    gone: "已不存在，请另选一个",
    noRunner: "尚未连接运行器",
    several: "你有多个运行器，请选择一个",
    offline: "离线：请在该机器上启动运行器，或另选一个",
    refused: "已拒绝：缺少本服务器要求的 {{layers}}",
    unavailable: "不可用",
    older: "版本 {{version}}；本服务器提供 {{newer}}。可在“管理运行器…”中更新",
  },
};
