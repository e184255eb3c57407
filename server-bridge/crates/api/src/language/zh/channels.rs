//! Channels.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What a person reads on a messenger.
    (
        "You are linked as {}. What you write here goes to your own chat; /help lists the commands.",
        "已绑定用户 {0}。你在这里写的内容会进入你自己的会话；发送 /help 查看可用命令。",
    ),
    (
        "{} of your messages are already waiting here; further ones are dropped.",
        "你在这里已有 {0} 条消息等待处理，之后的消息会被丢弃。",
    ),
    ("This works in groups only.", "此命令只能在群里使用。"),
    (
        "Only the owner of this bot can switch groups on and off.",
        "只有此机器人的所有者可以在群里开启或关闭回复。",
    ),
    (
        "This group is on: I answer members who are linked and mention me, each in their own chat. All members can read the answers.",
        "本群已开启回复：我会回复已绑定并提及我的成员，每人使用各自的会话。所有成员都能看到回复。",
    ),
    ("This group is off.", "本群已关闭回复。"),
    (
        "Write /group on, /group off, or /group use with the title of a group.",
        "请发送 /group on、/group off，或 /group use 加上群组的名称。",
    ),
    // A conversation that belongs to a group of people and agents.
    (
        "Write the group's title or number after the command, as in /group use Work",
        "请在命令后写上群组的名称或编号，例如 /group use Work",
    ),
    (
        "On this messenger bots can only reply, so the messages of a group cannot be shown here.",
        "此平台只允许机器人回复消息，群组的消息无法发到这里。",
    ),
    (
        "This conversation belongs to the group {} now: messages here that mention me are posted there, and everybody here can read everything that is said there. Only people who are linked and in the group can write. /group off stops this.",
        "此对话现在属于群组 {0}：这里提及我的消息会发到该群组，这里的所有人都能看到该群组中的全部消息。只有已绑定且在该群组中的人可以发言。发送 /group off 可停止。",
    ),
    (
        "This conversation no longer belongs to its group: the owner of this bot is no longer an owner of the group.",
        "此对话不再属于原来的群组：此机器人的所有者已不再是该群组的所有者。",
    ),
    (
        "This conversation no longer belongs to its group: {} ended that.",
        "此对话不再属于原来的群组：{0} 已结束关联。",
    ),
    (
        "this conversation is not bound to the group, or no longer is; reload the list",
        "此对话不属于或已不再属于该群组；请重新查看列表",
    ),
    (
        "You are not in the group that this conversation belongs to; ask an owner of the group to add you.",
        "你不在此对话所属的群组中；请联系群组所有者将你加入。",
    ),
    ("Files are not posted to the group, only text.", "文件不会发到群组，只发送文字。"),
    (
        "Messages here that mention me are posted to the group, and @NAME asks an agent; everything else in the group's log is shown here.",
        "这里提及我的消息会发到群组，@名称 可询问智能体；群组中的其他消息都会显示在这里。",
    ),
    (
        "/approve NUMBER, /edit NUMBER TEXT, /redo NUMBER TEXT, /more NUMBER, /stop NUMBER  answer a question of a chain",
        "/approve 编号、/edit 编号 内容、/redo 编号 内容、/more 编号、/stop 编号  回答链的问题",
    ),
    ("/group off  stop this (only for the owner of this bot)", "/group off  停止（仅限此机器人的所有者）"),
    ("Write the question's number after the command, as in {}", "请在命令后写上问题的编号，例如 {0}"),
    ("{} answered question {}: {}.", "{0} 回答了问题 {1}：{2*}。"),
    ("The chain {} asks:", "链 {0} 提问："),
    ("Mention me and answer with:", "请提及我并回复："),
    ("/edit {} TEXT", "/edit {0} 内容"),
    ("/redo {} TEXT", "/redo {0} 内容"),
    (
        "Or mention me and write: /edit {} TEXT, /redo {} TEXT",
        "也可以提及我并发送：/edit {0} 内容、/redo {1} 内容",
    ),
    ("Or mention me and write: /edit {} TEXT", "也可以提及我并发送：/edit {0} 内容"),
    (
        "Question {} no longer waits for an answer: its run has ended.",
        "问题 {0} 不再等待回答：所属的运行已结束。",
    ),
    ("Approve", "批准"),
    ("Do it again", "重做"),
    ("Allow the same budget again", "再追加同样的预算"),
    ("Stop the run", "停止运行"),
    ("approve", "批准"),
    ("edit", "修改输出"),
    ("redo", "重做"),
    ("more", "再追加同样的预算"),
    ("… The rest is on the server's page, in this group.", "… 其余内容见服务器网页上的此群组。"),
    (
        "{} now shows this log on {} (channel {}): from now on everybody in a conversation there can read it.",
        "{0} 已让此群组的消息显示在 {1}（渠道 {2}）：从现在起，该平台上某个对话中的所有人都能看到。",
    ),
    ("This log is no longer shown on {} (channel {}).", "此群组的消息不再显示在 {0}（渠道 {1}）。"),
    (
        "Write the file's name after the command, as in /send report.pdf",
        "请在命令后写上文件名，例如 /send report.pdf",
    ),
    ("The file was not sent: {}", "文件未能发送：{0*}"),
    ("this messenger cannot receive files", "此平台不能接收文件"),
    ("the chat's machine did not answer in time", "会话所在的机器未及时响应"),
    ("{} is larger than {} MiB, the limit for sending a file", "{0} 超过 {1} MiB 的发送上限"),
    (
        "/send FILE  send a file from this chat's workspace to this conversation",
        "/send 文件名  把此会话工作区中的文件发送到当前对话",
    ),
    ("/group on  answer in this group; /group off ends that", "/group on  在本群回复；/group off 停止回复"),
    (
        "/group use NAME  show the log of a group of people and agents here, and post messages from here to it",
        "/group use 名称  在本群显示一个由人和智能体组成的群组的消息，并把这里的发言发到该群组",
    ),
    ("… The rest is on the page: {}", "… 其余内容见网页：{0}"),
    ("… The rest is on the server's page, in this chat.", "… 其余内容见服务器网页上的此会话。"),
    ("The command ended without output.", "命令已结束，没有输出。"),
    ("The command ended with exit code {}.", "命令以退出码 {0} 结束。"),
    ("The command was ended by signal {}.", "命令被信号 {0} 终止。"),
    ("The command ended: {}.", "命令已结束：{0*}。"),
    ("The answer was stopped.", "回答已停止。"),
    ("The answer is empty.", "回答为空。"),
    ("↓ The answer is below.", "↓ 回答在下方。"),
    // Logins to the services of channels.
    (
        "your login to Feishu has ended; log in again with `sandbridge channel login {}`, or under Channels in the settings",
        "你的飞书登录已失效；请用 `sandbridge channel login {0}` 或在设置的“渠道”中重新登录",
    ),
    ("Feishu issued no new token: {}; try again later", "飞书未提供新的令牌：{0*}；请稍后重试"),
    ("the login with the channel {} could not be started: {}", "无法通过渠道 {0} 登录：{1*}"),
    (
        "no login of this session is waiting for this address; start it again, and finish within 10 minutes in the same browser",
        "此浏览器中没有与此地址对应的登录请求；请重新开始登录，并在 10 分钟内于同一浏览器中完成",
    ),
    ("the login to Feishu failed: {}", "登录飞书失败：{0*}"),
    ("the address that the browser came back to has no code", "浏览器返回的地址中没有授权码"),
    (
        "the channel was changed or removed since the login began; start it again",
        "登录开始后该渠道被修改或删除；请重新开始登录",
    ),
    ("the secret of the channel's app is not known", "该渠道应用的密钥不可用"),
    ("you are not logged in with the channel {}", "你尚未通过渠道 {0} 登录"),
    (
        "there is no Feishu channel {} that you may use; `sandbridge channel list` shows the channels",
        "没有你可以使用的飞书渠道 {0}；`sandbridge channel list` 会列出渠道",
    ),
    ("agents of groups cannot use a person's login", "群组的智能体不能使用个人的登录账号"),
    ("it redirects to another address", "它重定向到了其他地址"),
    ("the response has no token", "响应中没有令牌"),
    // The administrator's chat.
    (
        "/notices on  get the server's notices here (only for administrators); /notices off stops them",
        "/notices on  让服务器通知发到这里（仅限管理员）；/notices off 停止",
    ),
    (
        "This works only in a direct conversation with the bot, since notices are for administrators.",
        "通知只面向管理员，此命令只能在与机器人的私聊中使用。",
    ),
    (
        "The server's notices are now sent to this conversation and to none of your other conversations. Write /notices off to stop them.",
        "服务器通知现在会发到此对话，不再发到你的其他对话。发送 /notices off 可停止。",
    ),
    ("The server's notices are no longer sent to this conversation.", "服务器通知不再发到此对话。"),
    ("Write /notices on or /notices off.", "请发送 /notices on 或 /notices off。"),
    ("only administrators get the server's notices", "只有管理员能接收服务器通知"),
    (
        "bots can only reply on this messenger, so notices cannot be sent here; choose a conversation on another messenger",
        "此平台只允许机器人回复消息，无法在这里接收通知；请选择其他平台上的对话",
    ),
    ("The server has started.", "服务器已启动。"),
    (
        "Runners that have been offline for a while (user: runner):",
        "已离线一段时间的运行器（用户：运行器）：",
    ),
    ("Automations that failed (user: automation):", "运行失败的自动任务（用户：自动任务）："),
    (
        "Automations that the server paused; their owners can read why, and resume them (user: automation):",
        "被服务器暂停的自动任务；所有者可查看原因并恢复（用户：自动任务）：",
    ),
    (
        "Too many wrong passwords were tried for these users, so further logins are refused for a while:",
        "以下用户输错密码的次数过多，暂时拒绝其登录：",
    ),
    (
        "The disk with the server's data is nearly full (free / size):",
        "存放服务器数据的磁盘将满（剩余 / 总量）：",
    ),
    ("… and {} more", "… 另有 {0} 项"),
    // The settings of a chat.
    (
        "/settings  choose this chat's runner, model and approval mode here",
        "/settings  在这里选择此会话的运行器、模型和审批模式",
    ),
    ("Runner: {}", "运行器：{0}"),
    ("Model: {}", "模型：{0}"),
    ("Approval mode: {}", "审批模式：{0}"),
    // Questions.
    ("The agent asks:", "智能体提问："),
    (
        "Fill in this card on the server's page, or answer here in your own words.",
        "请在服务器网页上填写这张卡片，或直接在这里用自己的话回答。",
    ),
    ("Choose an answer, or write your own.", "请选择一个答案，或自行填写。"),
    ("{} needs your approval:", "{0} 需要你审批："),
    ("Allow", "允许"),
    ("Allow from now on", "以后都允许"),
    ("From now on", "以后都允许的操作"),
    ("Deny", "拒绝"),
    ("Answered", "已回答"),
    ("Answer with a number:", "请回复数字："),
    (
        "This is too long to be shown here: answer it on the page.",
        "内容过长，无法在这里显示：请在服务器网页上回答。",
    ),
    (
        "This question was already answered, or no longer waits for an answer.",
        "此问题已被回答，或不再等待回答。",
    ),
    ("This question no longer waits for an answer.", "此问题不再等待回答。"),
    ("This question is for somebody else.", "此问题不是问你的。"),
    ("This was answered elsewhere.", "已在别处回答。"),
    (
        "This was denied, either elsewhere or because nobody answered in time.",
        "已拒绝：可能是在别处被拒绝，也可能是无人及时回答。",
    ),
    ("sends a message to you", "向你发送一条消息"),
    // The settings.
    (
        "only an administrator's account can be shared with every user; save it without sharing",
        "只有管理员的机器人账号可以共享给所有用户；请取消共享后再保存",
    ),
    (
        "only an administrator's account can listen on an address of the server; have this account connect to the messenger",
        "只有管理员的机器人账号可以在服务器的地址上监听；请让此账号主动连接平台",
    ),
    (
        "the value {} was changed, so the secrets would be sent to another address; enter these again: {}",
        "配置项 {0} 已更改，密钥会被发送到另一个地址；请重新填写：{1}",
    ),
    ("there is no messenger {}; choose one of: {}", "没有平台 {0}；请从以下选择：{1}"),
    ("{} has no value {}; it has {}", "{0} 没有配置项 {1}；可用的有 {2}"),
    ("the value {} is too long or contains control characters", "配置项 {0} 过长，或含有控制字符"),
    ("{} needs the value {}", "{0} 需要配置项 {1}"),
    (
        "the list of people can contain at most {} messenger ids, and none may be empty",
        "人员列表最多可填 {0} 个平台用户 ID，且每个 ID 都不能为空",
    ),
    ("you do not own a channel named {}", "你自己没有渠道 {0}"),
    ("you have no link {}", "你没有编号为 {0} 的绑定"),
    ("channel", "渠道"),
    ("the channel", "渠道"),
    ("there is no channel at this address", "此地址没有渠道"),
    ("the platform did not answer in time", "平台未及时响应"),
    ("the platform does not answer: {}", "平台没有响应：{0*}"),
    ("the platform cannot be reached: {}", "无法连接平台：{0*}"),
    ("the platform refuses the account: {}", "平台拒绝此账号：{0*}"),
    (
        "{} has the same name as a channel on another messenger; choose another name, or remove that channel first",
        "其他平台上已有同名的{0}；请换一个名称，或先移除已有的",
    ),
    ("the connection failed; see the server's log for the reason", "连接失败；原因见服务器日志"),
    ("the user's account was removed", "该用户的账户已被移除"),
    ("the message that it was to replace was never sent", "它所替换的消息未能发送"),
    ("the message does not name a file on the homeserver", "消息没有指明主服务器上的文件"),
    // Messages that are not sent.
    ("the conversation no longer belongs to the group", "此对话已不再属于该群组"),
    (
        "the user is no longer an administrator, or has turned notices off in this conversation",
        "该用户已不再是管理员，或已在此对话中关闭通知",
    ),
];
