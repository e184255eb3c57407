//! Messengers: how an account on each is made, and what goes wrong with it.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What an account needs.
    ("Bot token", "机器人令牌"),
    ("Bot ID", "机器人 ID"),
    ("Secret", "密钥（Secret）"),
    ("Token", "令牌"),
    ("Access token", "访问令牌"),
    ("App-level token", "应用级令牌"),
    ("Address", "地址"),
    ("Listen on", "监听地址"),
    ("Homeserver", "主服务器（homeserver）"),
    ("Delivery", "接收方式"),
    ("Markdown and buttons", "Markdown 与按钮"),
    ("Robot code", "机器人编码"),
    ("Address of the Bot API", "Bot API 地址"),
    ("Address of the Web API", "Web API 地址"),
    ("Address of the API", "API 地址"),
    ("Token address", "获取令牌的地址"),
    ("Upload address", "上传文件的地址"),
    // Telegram.
    (
        "In Telegram, write /newbot to @BotFather and copy the token. For groups, also send /setprivacy and choose Disable only if the bot is to read messages that do not mention it.",
        "在 Telegram 中向 @BotFather 发送 /newbot，并复制令牌。在群里使用时，仅当机器人需要读取未提及它的消息，才再发送 /setprivacy 并选择 Disable。",
    ),
    (
        "Leave it unless you run a Bot API server of your own.",
        "保持不变即可，除非你自己运行 Bot API 服务器。",
    ),
    (
        "a webhook is set for this bot, so another program receives its messages: delete it with the Bot API's deleteWebhook, or use another bot",
        "此机器人设置了 webhook，消息由另一个程序接收：请用 Bot API 的 deleteWebhook 删除它，或换一个机器人",
    ),
    (
        "another program polls with this token: stop it, or use another bot",
        "另一个程序正在用此令牌轮询：请停止它，或换一个机器人",
    ),
    (
        "the bot token has the form 123456789:AAA…, as @BotFather shows it",
        "机器人令牌的格式为 123456789:AAA…，以 @BotFather 显示的为准",
    ),
    ("Telegram asks to wait", "Telegram 要求等待"),
    ("Telegram refuses the token: {}", "Telegram 拒绝此令牌：{0*}"),
    ("Address for deliveries", "推送地址"),
    (
        "Leave it empty, and the server asks Telegram for messages. If Telegram is to deliver them: save the account once, and enter the address for deliveries that it shows then, with the token again. Telegram needs an https address that it can reach.",
        "留空则由服务器从 Telegram 拉取消息。若要由 Telegram 推送：先保存一次账号，再填入它显示的推送地址，并重新填写令牌。Telegram 需要它能访问的 https 地址。",
    ),
    (
        "enter the address for deliveries that this account shows after it was saved once",
        "请填入此账号保存后显示的推送地址",
    ),
    ("Telegram refuses the address: {}", "Telegram 拒绝此地址：{0*}"),
    ("Telegram cannot deliver: {}", "Telegram 无法推送：{0*}"),
    ("another program has changed the address for deliveries", "另一个程序更改了推送地址"),
    ("deliveries were ended; Telegram is polled from now on", "已停止推送；此后改为轮询 Telegram"),
    // Slack.
    (
        "On api.slack.com/apps, create an app, turn on Socket Mode, and make an app-level token with the scope connections:write. It begins with xapp-.",
        "在 api.slack.com/apps 创建应用，开启 Socket Mode，并创建权限为 connections:write 的应用级令牌。它以 xapp- 开头。",
    ),
    (
        "Under OAuth & Permissions add the scopes app_mentions:read, channels:history, chat:write, files:read, files:write, groups:history, im:history and users:read; under Event Subscriptions add the bot events app_mention, message.channels, message.groups and message.im; turn on Interactivity; under App Home permit messages from the Messages tab; then install the app. The token begins with xoxb-.",
        "在 OAuth & Permissions 中添加权限 app_mentions:read、channels:history、chat:write、files:read、files:write、groups:history、im:history 和 users:read；在 Event Subscriptions 中添加机器人事件 app_mention、message.channels、message.groups 和 message.im；开启 Interactivity；在 App Home 中允许从 Messages 标签页发送消息；然后安装应用。令牌以 xoxb- 开头。",
    ),
    ("Change it only if your workspace has another address.", "保持不变即可，除非你的工作区使用其他地址。"),
    ("this token must begin with {}: {}", "此令牌必须以 {0} 开头：{1*}"),
    ("Slack refuses a token: {}", "Slack 拒绝令牌：{0*}"),
    ("Slack closed the connection with code {}", "Slack 关闭了连接（代码 {0}）"),
    // Discord.
    (
        "On discord.com/developers/applications, make an application; under Bot, reset the token and copy it, and turn on Message Content Intent. Under OAuth2, make an address with the scope bot and the permissions Send Messages, Attach Files and Read Message History, and open it to add the bot to a server. For direct messages, a shared server is enough.",
        "在 discord.com/developers/applications 创建应用；在 Bot 中重置并复制令牌，并开启 Message Content Intent。在 OAuth2 中生成一个地址，范围选 bot，权限选 Send Messages、Attach Files 和 Read Message History，打开它把机器人加入服务器。若只用私信，有一个共同的服务器即可。",
    ),
    ("Leave it as it is.", "保持不变即可。"),
    ("Discord refuses the token", "Discord 拒绝此令牌"),
    ("Discord refuses the token: {}", "Discord 拒绝此令牌：{0*}"),
    ("Discord refuses the connection with code {}", "Discord 拒绝连接（代码 {0}）"),
    ("Discord closed the connection with code {}", "Discord 关闭了连接（代码 {0}）"),
    ("Discord does not answer heartbeats", "Discord 没有回应心跳"),
    (
        "Message Content Intent is not turned on for this bot, so in servers it can read only messages that mention it",
        "此机器人没有开启 Message Content Intent：在服务器中只能读取提及它的消息",
    ),
    // Matrix.
    (
        "The address of the homeserver on which the bot has its account, such as https://matrix.org.",
        "机器人账号所在主服务器的地址，例如 https://matrix.org。",
    ),
    (
        "Make an account for the bot, sign in to it in Element, and copy the token from All settings → Help & About → Access token. Then close the window without signing out, which would end the token.",
        "为机器人注册账号，在 Element 中用它登录，并从“所有设置 → 帮助及关于 → 访问令牌”复制令牌。然后直接关闭窗口，不要退出登录，否则令牌会失效。",
    ),
    ("the access token contains characters that a token cannot contain", "访问令牌含有令牌中不会出现的字符"),
    ("the homeserver refuses the token: {}", "主服务器拒绝此令牌：{0*}"),
    // Feishu and Lark.
    (
        "Create a custom app in the developer console, enable the bot, subscribe to im.message.receive_v1 and card.action.trigger over the persistent connection, and copy the App ID from Credentials.",
        "在开发者后台创建企业自建应用，启用机器人能力，以长连接方式订阅 im.message.receive_v1 和 card.action.trigger，并从“凭证与基础信息”复制 App ID。",
    ),
    ("Copy it from Credentials of the same app.", "从同一应用的凭证页面复制。"),
    (
        "https://open.feishu.cn for Feishu, https://open.larksuite.com for Lark.",
        "飞书为 https://open.feishu.cn，Lark 为 https://open.larksuite.com。",
    ),
    ("the application has no bot", "此应用没有启用机器人"),
    ("the platform refuses the token, even a new one", "平台拒绝令牌，重新获取后仍被拒绝"),
    // QQ.
    (
        "Create a bot at q.qq.com and copy the AppID from its development settings.",
        "在 q.qq.com 创建机器人，并从开发设置中复制 AppID。",
    ),
    ("Copy it from the same page; it is shown only once.", "从同一页面复制；它只显示一次。"),
    (
        "Enter websocket, or webhook if the bot has a callback address in its settings; in that case enter this account's address there.",
        "填写 websocket；若机器人设置中使用回调地址，则填写 webhook，并把此账号的地址填入机器人设置。",
    ),
    (
        "Enter yes if QQ has granted the bot Markdown messages, which it does on request. Otherwise texts are sent without formatting, and choices are numbered.",
        "若机器人可以发送 Markdown 消息（需向 QQ 申请），填 yes；否则发送纯文本，选项用数字回答。",
    ),
    (
        "Use https://sandbox.api.sgroup.qq.com for the sandbox.",
        "沙箱环境为 https://sandbox.api.sgroup.qq.com。",
    ),
    (
        "Leave it as it is, unless requests to the API go through a proxy of yours.",
        "保持不变即可，除非你通过自己的代理访问 API。",
    ),
    ("the delivery must be websocket or webhook", "“接收方式”必须为 websocket 或 webhook"),
    ("Markdown and buttons must be no or yes", "“Markdown 与按钮”必须为 no 或 yes"),
    // OneBot.
    (
        "Enable a WebSocket server in NapCat's network settings, with messages as arrays, and enter its address: ws://host:3001. Leave it empty if NapCat connects to this server.",
        "在 NapCat 的网络配置中启用 WebSocket 服务器，消息格式选数组，并填入它的地址：ws://host:3001。若由 NapCat 连接本服务器，则留空。",
    ),
    (
        "For a WebSocket client in NapCat: the IP address and port of this server that NapCat connects to, such as 0.0.0.0:6199.",
        "用于 NapCat 的 WebSocket 客户端：本服务器供 NapCat 连接的 IP 地址和端口，例如 0.0.0.0:6199。",
    ),
    (
        "The token that NapCat's network settings hold for this connection; at least 16 characters if NapCat connects to this server.",
        "NapCat 网络配置中此连接的令牌；若由 NapCat 连接本服务器，至少 16 个字符。",
    ),
    (
        "the token must have at least {} characters if NapCat connects to this server",
        "若由 NapCat 连接本服务器，令牌至少需要 {0} 个字符",
    ),
    ("the address must begin with ws:// or wss://", "地址必须以 ws:// 或 wss:// 开头"),
    ("the address must begin with wss://", "地址必须以 wss:// 开头"),
    ("the address to listen on must be an IP address and a port", "监听地址必须是 IP 地址和端口"),
    (
        "enter either the address to connect to or the address to listen on",
        "请填写“地址”和“监听地址”其中之一",
    ),
    ("the token is refused", "令牌被拒绝"),
    ("the account is not logged in at QQ", "此账号未登录 QQ"),
    ("listening on {}: {}", "监听 {0}：{1*}"),
    // DingTalk.
    (
        "Create an internal app in the developer console, add a robot in stream mode, and copy the Client ID (AppKey) from Credentials.",
        "在开发者后台创建企业内部应用，添加 Stream 模式的机器人，并从“凭证与基础信息”复制 Client ID（AppKey）。",
    ),
    ("Leave it empty if the robot code is the Client ID.", "仅当它与 Client ID 不同时填写。"),
    // WeCom.
    (
        "Create an AI bot in WeCom's admin console, choose API mode with a long connection, and copy the Bot ID.",
        "在企业微信管理后台创建智能机器人，选择 API 模式并使用长连接，然后复制 Bot ID。",
    ),
    ("Copy it from the same page: it is not the Secret of an app.", "从同一页面复制：它不是应用的 Secret。"),
    (
        "Leave it as it is, except for a private deployment: its admin console shows the address.",
        "保持不变即可；私有部署请填写其管理后台显示的地址。",
    ),
    (
        "another connection of this bot replaced this one: use the bot on one server only",
        "另一个连接接管了此机器人：请只在一台服务器上使用它",
    ),
    // All of them.
    ("{} is missing", "缺少：{0*}"),
    ("status {}", "状态码 {0}"),
    ("no answer came", "没有收到响应"),
    ("the request took too long", "请求耗时过长"),
    ("the transfer took too long", "传输耗时过长"),
    ("the connection could not be made in time", "未能及时建立连接"),
    ("the message could not be sent in time", "未能及时发送消息"),
    ("the connection ended", "连接已断开"),
    ("the connection ended before the answer", "连接在收到响应前断开"),
    ("the account is not connected", "此账号未连接"),
    ("nothing was received for {} s", "{0} 秒内没有收到任何数据"),
    ("the connection was closed with code {}: {}", "连接被关闭（代码 {0}）：{1*}"),
    ("the connection was closed with code {}", "连接被关闭（代码 {0}）"),
    ("TLS failed", "TLS 连接失败"),
    ("the WebSocket failed", "WebSocket 连接失败"),
    ("too many requests", "请求过多"),
    ("the platform asks to wait {} ms", "平台要求等待 {0} 毫秒"),
    ("the platform refuses the message: {}", "平台拒绝此消息：{0*}"),
    ("the conversation is closed: {}", "对话已关闭：{0*}"),
    ("the platform accepts no more answers to this message", "平台不再接受对此消息的回复"),
    ("the platform asks to connect again", "平台要求重新连接"),
    ("the platform ends the connection", "平台断开了连接"),
    ("the platform gave no address of its gateway", "平台没有给出网关地址"),
    ("the platform gives no token", "平台没有给出令牌"),
    ("a heartbeat was not answered", "心跳没有得到回应"),
    ("the session is invalid", "连接会话无效"),
    ("the events could not be stored: {}", "未能保存事件：{0*}"),
    ("it is larger than {} bytes", "超过 {0} 字节"),
    // What is lost.
    (
        "messages that were sent while the account was not connected are lost: OneBot delivers nothing later",
        "账号未连接期间的消息已丢失：OneBot 不会补发",
    ),
    (
        "messages that were sent while the bot was not connected are lost: WeCom delivers nothing later",
        "机器人未连接期间的消息已丢失：企业微信不会补发",
    ),
    (
        "messages that were sent more than a minute before this connection are lost: DingTalk delivers nothing later",
        "在此次连接前超过一分钟发送的消息已丢失：钉钉不会补发",
    ),
    (
        "the session could not be resumed: messages that were sent since it ended are lost",
        "无法恢复连接会话：会话结束后发送的消息已丢失",
    ),
    ("Feishu sent a fragment that cannot be used: {}", "飞书发来的分片无法使用：{0*}"),
];
