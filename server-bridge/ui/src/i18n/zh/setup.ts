import type { Room } from "../words";

export const setup: Room<"setup"> = {
  steps: "设置步骤",
  next: "继续",
  account: {
    step: "账户",
    title: "设置 Sandbridge",
    hint: "你是第一位用户。此账户将管理整个服务器。",
    secret: "初始化密钥",
    secretHint: "由 `sandbridge serve` 在启动时显示，即地址中 #setup= 之后的部分。",
    name: "用户名",
    password: "密码",
    repeat: "再次输入密码",
    differ: "两次输入的密码不一致，请重新输入。",
    create: "创建账户",
  },
  model: {
    step: "模型",
    title: "让哪个模型为你工作？",
    hint: "任何兼容 OpenAI 或 Anthropic 接口的服务都可以。没有模型也能运行命令。",
    skip: "跳过，以后再添加",
    shared: "本服务器自带一个模型。",
    saved: "已保存 {{name}}。",
    test: "测试",
    testing: "正在测试…",
    answered: "{{model}} 回答：{{answer}}",
  },
  runner: {
    step: "机器",
    title: "连接你的第一台机器",
    hint: "运行器是装在你要使用的机器上的一个小程序。给它起个名字，然后在那台机器上粘贴一条命令。",
    here: "若只在一台机器上工作，可在该机器的某个目录中运行 <0>sandbridge here</0>，它会自行启动服务器。",
    command: "显示命令",
    first: "运行第一条命令：{{command}}",
    docker: "改用本服务器上的 Docker 容器",
    skip: "跳过，直接进入会话",
  },
};
