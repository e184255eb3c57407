//! Simplified Chinese. One term for each thing: 运行器 runner, 会话 chat, 智能体 agent, 词元 token of a model, 令牌 token of a runner,
//! 审批 approval, 沙箱 sandbox, 工作区 workspace.

use super::Row;

/// Every translated text, grouped by the part of the server it comes from.
pub(super) const TABLE: &[Row] = &[
    // Requests and logins.
    ("the server could not do this; its log says why", "服务器无法完成此操作；原因见服务器日志"),
    (
        "you are not logged in, or your session has ended; log in again",
        "你尚未登录，或登录已过期；请重新登录",
    ),
    ("too many {}; try again in {} s", "{0}过多；请在 {1} 秒后重试"),
    ("failed attempts", "失败次数"),
    ("the name or the password is wrong", "用户名或密码错误"),
    (
        "only an administrator of the server may do that; ask one",
        "只有服务器管理员可以执行此操作；请联系管理员",
    ),
    (
        "you cannot {} yourself; another administrator can",
        "你不能对自己执行此操作（{0}）；请由其他管理员执行",
    ),
    (
        "nobody would be left to administer the server; make another administrator first",
        "这样服务器将没有管理员；请先指定另一位管理员",
    ),
    (
        "give your password once more (POST /api/v1/confirm), then try again",
        "请再次输入密码（POST /api/v1/confirm），然后重试",
    ),
    ("too many codes were requested but not used", "请求了过多登录码却均未使用"),
    (
        "this address was used already or is too old; ask for another one where this one was printed",
        "此地址已被使用或已过期；请在显示它的地方重新获取",
    ),
    (
        "the first account already exists; log in, or ask an administrator for an account",
        "首个账户已创建；请登录，或向管理员申请账户",
    ),
    (
        "an API key may not do this, and {} is one; log in and do it yourself",
        "API 密钥（{0}）无权执行此操作；请登录后自行操作",
    ),
    ("the request's body did not arrive in time", "请求内容未在规定时间内送达"),
    (
        "the request comes from a page of another site; open Sandbridge itself and try again",
        "请求来自其他网站的页面；请打开 Sandbridge 后重试",
    ),
    ("the server is stopping; send the message again in a moment", "服务器正在停止；请稍后重新发送消息"),
    ("the server is stopping; run the command again in a moment", "服务器正在停止；请稍后重新运行命令"),
    ("there is no such chat", "没有这个会话"),
    (r#"there is no {} "{}""#, "没有名为“{1}”的{0}"),
    ("there is already a {} {}; choose another name", "已有名为 {1} 的{0}；请换一个名称"),
    ("chat", "会话"),
    ("runner", "运行器"),
    ("user", "用户"),
    ("message", "消息"),
    ("model", "模型"),
    ("the name {} is reserved; choose another", "{0} 是保留名称；请换一个"),
    (
        "{} is not a valid name: use 1 to 63 characters of a-z, 0-9, '_', '.' and '-', beginning with a letter or a digit",
        "{0} 不是有效的名称：请使用 1 至 63 个字符（a-z、0-9、“_”、“.”、“-”），并以字母或数字开头",
    ),
    // Where commands run.
    ("runner {} is offline", "运行器 {0} 已离线"),
    (
        "runner {} is offline; start it, or choose another one with `sandbridge use`",
        "运行器 {0} 已离线；请启动它，或用 `sandbridge use` 选择其他位置",
    ),
    (
        "the connection to runner {} was lost; what the request did there is unknown",
        "与运行器 {0} 的连接已断开；请求的执行情况未知",
    ),
    (
        "the connection to runner {} was lost before the file was complete; nothing was written: send it again",
        "文件传完之前与运行器 {0} 的连接已断开；未写入任何内容，请重新发送",
    ),
    (
        "the connection to runner {} was lost, and the file changed meanwhile; read it again",
        "与运行器 {0} 的连接曾断开，其间文件已更改；请重新读取",
    ),
    (
        "several runners are registered: {}; choose one with `sandbridge use NAME`",
        "已注册多个运行器：{0}；请用 `sandbridge use 名称` 选择一个",
    ),
    (
        "no runner is connected to your account: run `sandbridge runner add NAME` and start sandbridge-runner on your machine with the command it prints",
        "你的账户尚未连接运行器：请运行 `sandbridge runner add 名称`，并在你的机器上用它给出的命令启动 sandbridge-runner",
    ),
    (
        "you have no runner named {}; `sandbridge runner list` shows yours",
        "没有名为 {0} 的运行器；`sandbridge runner list` 会列出你的运行器",
    ),
    (
        "Docker is not enabled on this server; choose a runner with `sandbridge use NAME`, or ask the server's administrator",
        "本服务器未启用 Docker；请用 `sandbridge use 名称` 选择运行器，或联系服务器管理员",
    ),
    ("Docker cannot be used: {}", "Docker 无法使用：{0}"),
    (
        "runner {} lacks {}; this server requires it: {} (`sandbridge-runner doctor` says more)",
        "运行器 {0} 缺少 {1}，而本服务器要求具备：{2}（详见 `sandbridge-runner doctor`）",
    ),
    ("image {} is being pulled ({}); commands wait for it", "正在拉取镜像 {0}（{1}）；命令会等待"),
    ("image {} is not on this machine yet; the first command pulls it", "本机尚无镜像 {0}；首条命令会拉取它"),
    (
        "image {} is not on this machine and cannot be pulled ({}); see `docker pull {}`, or choose another one with --docker-image",
        "本机没有镜像 {0}，且无法拉取（{1}）；请查看 `docker pull {2}`，或用 --docker-image 选择其他镜像",
    ),
    ("commands on the server itself are refused: {}", "不允许在服务器本机上运行命令：{0}"),
    ("the server's own runner cannot be used: {}", "服务器自带的运行器无法使用：{0}"),
    (
        "this server does not allow them; choose a runner with `sandbridge use NAME`",
        "本服务器未开放此功能；请用 `sandbridge use 名称` 选择运行器",
    ),
    (
        "no command has the id {}; `sandbridge ps` lists yours",
        "没有 ID 为 {0} 的命令；`sandbridge ps` 会列出你的命令",
    ),
    ("no background task has the id {}", "没有 ID 为 {0} 的后台任务"),
    (
        "exec {} was already started with a different request; use a new id",
        "命令 {0} 已由另一个请求启动；请使用新的 ID",
    ),
    (
        "your container is being committed or imported already; try again when that has ended",
        "你的容器正在提交或导入；请待其完成后重试",
    ),
    // Models.
    (
        "there is no model {}; see `/models` or `sandbridge model list`",
        "没有模型 {0}；请查看 `/models` 或 `sandbridge model list`",
    ),
    (
        "no model is set up; add one of your own with `sandbridge model add`, or ask the server's administrator",
        "尚未设置模型；请用 `sandbridge model add` 添加你自己的模型，或联系服务器管理员",
    ),
    ("the model's provider refused the key ({}); check the key", "模型提供商拒绝了密钥（{0}）；请检查密钥"),
    (
        "the provider has no such model ({}); choose another one with /model",
        "提供商没有这个模型（{0}）；请用 /model 选择其他模型",
    ),
    ("the conversation is too long for the model ({})", "对话超出了模型的长度限制（{0}）"),
    ("the provider's rate limit is reached ({})", "已达到提供商的速率限制（{0}）"),
    ("the provider reports that the account is used up ({})", "提供商报告账户额度已用完（{0}）"),
    ("the provider failed ({})", "提供商出错（{0}）"),
    ("the provider cannot be reached ({})", "无法连接提供商（{0}）"),
    ("the provider took too long ({})", "提供商响应超时（{0}）"),
    ("the answer broke off before its end", "回答中途中断"),
    ("the model's answer was empty", "模型的回答为空"),
    ("the provider refused the request ({})", "提供商拒绝了请求（{0}）"),
    (
        "the provider's answer is not understood: {}; is it the right kind of provider?",
        "无法理解提供商的回复：{0}；提供商类型是否正确？",
    ),
    ("the model is reached through a runner: {}", "该模型经由运行器访问：{0}"),
    // Messages and attachments.
    ("the message {}", "消息{0}"),
    ("is empty; write something, or /help to see what works", "为空；请输入内容，或输入 /help 查看可用命令"),
    (
        "is for a sub-agent, and only the agent that called it can write to it; send it in that agent's chat",
        "属于子智能体的会话，只有调用它的智能体能与它对话；请在那个智能体的会话中发送",
    ),
    ("the title is empty; give one", "标题为空；请输入标题"),
    (
        "{} messages wait for an answer in this chat already; send it again when one is answered",
        "此会话已有 {0} 条消息在等待回答；请在其中一条得到回答后重新发送",
    ),
    (
        "{} messages wait for an answer in this chat already. This one is not answered: send it again when one is.",
        "此会话已有 {0} 条消息在等待回答。这一条不会得到回答：请在其中一条得到回答后重新发送。",
    ),
    ("a message has at most {} attachments", "一条消息最多 {0} 个附件"),
    ("an attachment has at most {} MiB; upload it as a file instead", "附件最大 {0} MiB；请改为上传文件"),
    (
        "a command takes no attachments; send them with a message of their own, and the command separately",
        "命令不能带附件；请将附件单独作为一条消息发送",
    ),
    ("the upload broke off ({}); attach the file again", "上传中断（{0}）；请重新添加附件"),
    ("this question no longer waits for an answer", "这个问题已不再等待回答"),
    (
        "this was answered already ({}, from {}); the first answer counts",
        "已有回答（{0}，来自 {1}）；以首次回答为准",
    ),
    ("an answer has at most {} bytes; shorten it", "回答最多 {0} 字节；请缩短"),
    // The slash commands, as /help lists them.
    ("run a shell command in this chat's sandbox", "在此会话的沙箱中运行 Shell 命令"),
    ("a message that begins with a slash", "以斜杠开头的消息"),
    ("this list", "显示此列表"),
    ("A command may run for {} seconds.", "每条命令限时 {0} 秒。"),
    ("There is no command /{}. The commands are:", "没有命令 /{0}。可用的命令："),
    ("list your runners and where this chat's commands go", "列出你的运行器以及此会话的命令发往何处"),
    (
        "send this chat's commands to NAME; `auto` follows your active runner again",
        "将此会话的命令发往 NAME；`auto` 重新跟随当前运行器",
    ),
    (
        "set what the model may do without asking: plan, ask, auto-edit or full",
        "设置模型无需审批即可执行哪些操作：plan、ask、auto-edit 或 full",
    ),
    ("show which model answers in this chat", "显示此会话由哪个模型回答"),
    (
        "choose NAME, NAME/TIER, NAME/MODEL, a tier (vanguard, balance or swift), or `default`",
        "选用 NAME、NAME/TIER、NAME/MODEL、某个级别（vanguard 先锋、balance 均衡、swift 快速）或 `default`",
    ),
    ("list the models you can choose", "列出可用的模型"),
    (
        "tokens and cost of this chat, of today and of the last 30 days",
        "此会话、今天及最近 30 天的词元用量和费用",
    ),
    ("show what is remembered about you", "显示关于你的记忆"),
    (
        "forget one of them; open chats that know it already keep it",
        "忘记其中一项；已获知该内容的会话仍会保留它",
    ),
    ("stop what runs in this chat", "停止此会话中正在运行的命令和回答"),
    ("list this chat's background commands", "列出此会话的后台命令"),
    ("end one of them, with everything it started", "结束其中一条命令及其启动的所有进程"),
    (
        "take back your last message: the conversation, and the files it changed",
        "撤回你的上一条消息：包括对话和它更改的文件",
    ),
    ("the same, overwriting changes that others have made since", "同上，并覆盖其他人之后所做的更改"),
    ("list your messages that can be taken back", "列出可以撤回的消息"),
    (
        "take back the last N messages; files stay, unless --files restores them",
        "撤回最近 N 条消息；文件保持不变，除非用 --files 恢复",
    ),
    ("the same for message #ID and everything after it", "同上，撤回消息 #ID 及其后的所有消息"),
    (
        "go on with this conversation in a new chat; this one stays as it is",
        "在新会话中继续此对话；此会话保持不变",
    ),
    (
        "the same without the last N messages; /fork #ID: only up to message #ID",
        "同上，但不含最近 N 条消息；/fork #ID：只到消息 #ID",
    ),
    ("replace earlier messages with a summary, to make room", "用摘要代替之前的内容，以腾出空间"),
    ("show how full the model's window is, and what fills it", "显示模型上下文窗口的占用情况"),
    ("begin a new chat", "新建会话"),
    // Answers of slash commands.
    ("This chat's commands go to {} (bound).", "此会话的命令发往 {0}（已固定）。"),
    ("This chat's commands go to {}, your active runner.", "此会话的命令发往 {0}，即你的当前运行器。"),
    (
        "Neither this chat nor your settings name a runner: the only registered one is used.",
        "此会话和你的设置都没有指定运行器：将使用唯一注册的运行器。",
    ),
    (
        "/runner NAME binds this chat; /runner auto follows your active runner.",
        "/runner 名称 固定此会话；/runner auto 跟随当前运行器。",
    ),
    ("You have no runner {}. Choose one of: {}.", "你没有运行器 {0}。请从中选择：{1}。"),
    ("This chat's commands go to {} now.", "此会话的命令现在发往 {0}。"),
    ("{} But: {}", "{0}但是：{1}"),
    ("This chat follows your active runner now.", "此会话现在跟随你的当前运行器。"),
    ("This chat is in {} mode.", "此会话的审批模式为 {0}。"),
    ("This chat is in {} mode now.", "此会话的审批模式现为 {0}。"),
    ("/approval plan       look, change nothing", "/approval plan       只查看，不做更改"),
    (
        "/approval ask        ask before a file is changed or a command runs",
        "/approval ask        更改文件或运行命令前询问",
    ),
    ("/approval auto-edit  ask before a command runs", "/approval auto-edit  运行命令前询问"),
    (
        "/approval full       ask only for the privileged user and settings",
        "/approval full       仅在使用特权用户或更改设置时询问",
    ),
    ("Choose one of: plan, ask, auto-edit, full.", "请选择：plan、ask、auto-edit、full。"),
    ("Write the command after the exclamation mark, like !ls -l", "请在感叹号后写命令，例如 !ls -l"),
    (
        "{} commands run in this chat already. Wait for one to end, or stop them with /cancel.",
        "此会话已有 {0} 条命令在运行。请等待其中一条结束，或用 /cancel 停止。",
    ),
    ("Nothing runs in this chat.", "此会话中没有正在运行的命令或回答。"),
    ("The running command or answer is being stopped.", "正在停止运行中的命令或回答。"),
    ("The {} running commands and answers are being stopped.", "正在停止 {0} 个运行中的命令和回答。"),
    ("The message that waits is answered next.", "接下来将回答等待中的消息。"),
    ("The messages that wait are answered next.", "接下来将回答等待中的消息。"),
    ("No model that could write a summary is set up on this server.", "本服务器没有可以撰写摘要的模型。"),
    ("The conversation is compressed before the model is asked again.", "下次请求模型前会压缩对话。"),
    ("Nothing has been sent to the model in this chat yet.", "此会话中尚未向模型发送任何内容。"),
    ("This conversation goes on in a new chat too.", "此对话现在也可在新会话中继续。"),
    ("Nothing is remembered about you yet.", "尚未记住关于你的任何内容。"),
    ("{} is forgotten.", "已忘记 {0}。"),
    ("There is no memory named {}; /memory lists them.", "没有名为 {0} 的记忆；/memory 会列出所有记忆。"),
    ("Write /memory, or /memory forget NAME.", "请输入 /memory，或 /memory forget 名称。"),
    ("A new chat was started.", "已新建会话。"),
    ("{} answers in this chat, {}.", "此会话由 {0} 回答（{1}）。"),
    ("set in your settings", "在你的设置中指定"),
    ("set in this chat ({})", "在此会话中指定：{0}"),
    ("When it is unavailable, {} answers.", "不可用时改由 {0} 回答。"),
    (
        "/models lists what you can choose; /model NAME or /model TIER changes it here.",
        "/models 列出可用的模型；/model 名称 或 /model 级别 可在此更改。",
    ),
    (
        "/model NAME, /model TIER, /model NAME/TIER or /model NAME/MODEL chooses one for this chat.",
        "/model 名称、/model 级别、/model 名称/级别 或 /model 名称/模型 可在此会话中选择模型。",
    ),
    ("Write /tasks, or /tasks kill ID.", "请输入 /tasks，或 /tasks kill ID。"),
    ("This chat has no tasks.", "此会话没有后台任务。"),
    ("This chat has no task {}; /tasks lists those it has.", "此会话没有任务 {0}；/tasks 会列出现有任务。"),
    ("Task {} has ended.", "任务 {0} 已结束。"),
    ("Task {} was not ended: {}", "任务 {0} 未能结束：{1}"),
    ("There is nothing to take back in this chat.", "此会话中没有可以撤回的内容。"),
    ("There are only {} messages to take back in this chat.", "此会话中只有 {0} 条消息可以撤回。"),
    (
        "An answer is under way in this chat. Wait for its end, or stop it with /cancel, before anything is taken back.",
        "此会话中有回答正在进行。请等待其结束，或用 /cancel 停止，然后再撤回。",
    ),
    ("Your last messages, the last one first:", "你最近的消息，最新的在前："),
    (
        "/rewind N takes back the last N of them, /rewind N --files their files too.",
        "/rewind N 撤回最近 N 条，/rewind N --files 同时恢复文件。",
    ),
    ("Files stay as they are.", "文件保持不变。"),
    ("A command ran in it; what it changed stays as it is.", "其中运行过一条命令；它所做的更改保持不变。"),
    (
        "{} commands ran in it; what they changed stays as it is.",
        "其中运行过 {0} 条命令；它们所做的更改保持不变。",
    ),
    // Notices of answers.
    (
        "⏳ Other answers are under way; this one begins when one of them ends.",
        "⏳ 其他回答正在进行；其中一个结束后开始此回答。",
    ),
    ("⚠️ {}: {}. {} answers instead.", "⚠️ {0}：{1}。改由 {2} 回答。"),
    ("The conversation was not compressed: {}.", "对话未压缩：{0}。"),
    ("The conversation was not compressed: nothing was said yet.", "对话未压缩：还没有任何内容。"),
    (
        "🗜️ The conversation was compressed: about {} → {} of {} tokens. You still see all of it; the model goes on from a summary.",
        "🗜️ 对话已压缩：约 {0} → {1} 个词元（窗口 {2}）。你仍能看到全部内容；模型将从摘要继续。",
    ),
    (
        "⚠️ The conversation was not compressed: {}. Nothing was changed; it is not retried automatically for {} answers.",
        "⚠️ 对话未压缩：{0}。未做任何更改；接下来的 {1} 次回答不会自动重试。",
    ),
    ("there is nothing in it to leave out", "其中没有可以省略的内容"),
    ("that would save less than {} %", "节省的空间不足 {0} %"),
    ("the model wrote no summary", "模型没有写出摘要"),
    ("it was cancelled", "已取消"),
];
