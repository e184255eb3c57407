import type { Room } from "../words";

export const frame: Room<"frame"> = {
  connecting: "正在连接…",
  tryAgain: "重试",
  offline: "与服务器的连接已断开，正在重新连接… 运行中的命令会继续。",
  tryNow: "立即重试",
  dismiss: "关闭",
  chats: "会话",
  settings: "设置",
  close: "关闭",
  name: "用户名",
  password: "密码",
  signIn: "登录",
  signingIn: "正在登录…",
  wrongLogin: "用户名或密码错误。",
  tooManyAttempts: "尝试次数过多。请等待 {{wait}} 后再试。",
  seconds: "{{count}} 秒",
  aWhile: "一段时间",
  panels: "面板",
};
