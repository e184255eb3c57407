//! Simplified Chinese. One term each: 运行器 runner, 会话 chat, 智能体 agent, 子智能体 sub-agent, 令牌 token of a runner, 沙箱 sandbox,
//! 工作区 workspace, 轮 turn, 当前运行器 active runner, 级别 tier, 渠道 channel, 网页 the server's page, 节点 node, 密钥 key or secret;
//! a token of a model stays token. 审批 approval (批准 one that is given), 人工确认 gate, 链 chain, 群组 group of people and agents (群 a
//! messenger's), 钩子 hook, 规则 rule, 记忆 memory, 知识库 knowledge, 文档集 collection; 响应 what a program answers, 回答 what a model or a
//! person does; 本服务器 this server.

mod archives;
mod automations;
mod channels;
mod context;
mod extensions;
mod findings;
mod groups;
mod hooks;
mod http_tools;
mod knowledge;
mod machines;
mod mcp;
mod messages;
mod messengers;
mod packages;
mod requests;
mod rules;
mod services;
mod settings;
mod updates;
mod work;

use super::Row;

/// Every translated text.
pub(super) const TABLES: [&[Row]; 22] = [
    TABLE,
    work::TABLE,
    settings::TABLE,
    extensions::TABLE,
    mcp::TABLE,
    http_tools::TABLE,
    automations::TABLE,
    channels::TABLE,
    context::TABLE,
    groups::TABLE,
    messengers::TABLE,
    knowledge::TABLE,
    messages::TABLE,
    rules::TABLE,
    requests::TABLE,
    services::TABLE,
    archives::TABLE,
    hooks::TABLE,
    machines::TABLE,
    packages::TABLE,
    findings::TABLE,
    updates::TABLE,
];

/// Requests, chats and their commands, grouped by the part of the server they come from.
const TABLE: &[Row] = &[
    // Requests and logins.
    ("the server could not do this; its log says why", "服务器无法完成此操作；原因见服务器日志"),
    (
        "the server's disk is full; try again when an administrator has made room there",
        "服务器的磁盘已满；请在管理员腾出空间后重试",
    ),
    (
        "you are not logged in, or your session has ended; log in again",
        "你尚未登录，或登录已过期；请重新登录",
    ),
    ("too many {}; try again in {} s", "{0*}过多；请在 {1} 秒后重试"),
    ("failed attempts", "失败次数"),
    ("attempts", "尝试次数"),
    ("failed logins", "登录失败次数"),
    ("refused keys", "使用无效密钥的次数"),
    ("searches at once", "同时进行的搜索"),
    ("downloads that were requested but not started", "已请求但未开始的下载"),
    ("codes that were requested but not used", "已获取但未使用的登录码"),
    ("the name or the password is wrong", "用户名或密码错误"),
    (
        "only an administrator of the server may do that; ask one",
        "只有服务器管理员可以执行此操作；请联系管理员",
    ),
    (
        "you cannot {} yourself; another administrator can",
        "你不能对自己执行此操作（{0*}）；请由其他管理员执行",
    ),
    ("take the administrator role from", "取消管理员身份"),
    ("remove", "移除"),
    (
        "nobody would be left to administer the server; make another user an administrator first",
        "这样服务器将没有管理员；请先指定另一位管理员",
    ),
    (
        "give your password once more (POST /api/v1/confirm), then try again",
        "请再次输入密码（POST /api/v1/confirm），然后重试",
    ),
    (
        "this sign-in address was already used or has expired; request a new one",
        "此登录地址已被使用或已过期；请重新获取",
    ),
    (
        "the first account already exists; log in, or ask an administrator for an account",
        "首个账户已创建；请登录，或向管理员申请账户",
    ),
    ("the request's body did not arrive in time", "请求正文未在规定时间内送达"),
    (
        "the request comes from a page of another site; open Sandbridge itself and try again",
        "请求来自其他网站的页面；请打开 Sandbridge 后重试",
    ),
    ("the server is stopping; send the message again in a moment", "服务器正在停止；请稍后重新发送消息"),
    ("the server is stopping; run the command again in a moment", "服务器正在停止；请稍后重新运行命令"),
    ("there is no such chat", "没有这个会话"),
    (r#"there is no {} "{}""#, "找不到{0*}“{1}”"),
    ("the name {} is already used by another {}; choose another name", "已有名为 {0} 的{1*}；请换一个名称"),
    ("chat", "会话"),
    ("runner", "运行器"),
    ("user", "用户"),
    ("message", "消息"),
    ("model", "模型"),
    ("key", "密钥"),
    ("subscription", "订阅"),
    ("the name {} is reserved; choose another", "{0} 是保留名称；请换一个"),
    (
        "{} is not a valid name: use 1 to 63 characters of a-z, 0-9, '_', '.' and '-', beginning with a letter or a digit",
        "{0} 不是有效的名称：请使用 1 至 63 个字符（a-z、0-9、“_”、“.”、“-”），并以字母或数字开头",
    ),
    // The places where commands run.
    ("runner {} is offline", "运行器 {0} 已离线"),
    (
        "runner {} is offline; start it, or choose another one with `sandbridge use`",
        "运行器 {0} 已离线；请启动它，或用 `sandbridge use` 选择其他运行器",
    ),
    (
        "the connection to runner {} was lost; what the request did there is unknown",
        "与运行器 {0} 的连接已断开；请求的执行情况未知",
    ),
    (
        "the connection to runner {} was lost before the file was complete; nothing was written: send it again",
        "文件传完之前，与运行器 {0} 的连接已断开；未写入任何内容，请重新发送",
    ),
    (
        "the connection to runner {} was lost, and the file changed in the meantime; read it again",
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
        "you have no runner named {}; `sandbridge runner list` lists your runners",
        "没有名为 {0} 的运行器；`sandbridge runner list` 会列出你的运行器",
    ),
    (
        "Docker is not enabled on this server; choose a runner with `sandbridge use NAME`, or ask the server's administrator",
        "本服务器未启用 Docker；请用 `sandbridge use 名称` 选择运行器，或联系服务器管理员",
    ),
    ("Docker cannot be used: {}", "Docker 无法使用：{0}"),
    (
        "runner {} lacks {}; this server requires it: {} (see `sandbridge-runner doctor`)",
        "运行器 {0} 缺少本服务器要求的 {1}；解决办法：{2}（详见 `sandbridge-runner doctor`）",
    ),
    (
        "image {} is being pulled ({}); commands wait for it",
        "正在拉取镜像 {0}（{1}）；命令会在拉取完成后运行",
    ),
    ("it has just started", "刚开始"),
    (
        "image {} is not on this machine yet; the first command pulls it",
        "服务器上尚无镜像 {0}；运行首条命令时会拉取",
    ),
    (
        "image {} is not on this machine and cannot be pulled ({}); see `docker pull {}`, or choose another one with --docker-image",
        "服务器上没有镜像 {0}，且无法拉取（{1*}）；请运行 `docker pull {2}` 查看原因，或用 --docker-image 选择其他镜像",
    ),
    ("commands on the server itself are refused: {}", "不允许在服务器本机上运行命令：{0}"),
    ("the server's own runner cannot be used: {}", "服务器自带的运行器无法使用：{0}"),
    (
        "this server does not allow them; choose a runner with `sandbridge use NAME`",
        "本服务器未开放此功能；请用 `sandbridge use 名称` 选择运行器",
    ),
    (
        "no command has the id {}; `sandbridge ps` lists your commands",
        "没有 ID 为 {0} 的命令；`sandbridge ps` 会列出你的命令",
    ),
    ("no background task has the id {}", "没有 ID 为 {0} 的后台任务"),
    (
        "exec {} was already started with a different request; use a new id",
        "命令 ID {0} 已用于另一个内容不同的请求；请使用新的 ID",
    ),
    (
        "a commit or import of your container is already in progress; try again when it has ended",
        "你的容器正在提交或导入；请待其完成后重试",
    ),
    // The slash commands, as /help lists them.
    ("run a shell command in this chat's sandbox", "在此会话的沙箱中运行 Shell 命令"),
    ("a message that begins with a slash", "以斜杠开头的消息"),
    ("this list", "显示此列表"),
    ("A shell command may run for at most {} seconds.", "每条 Shell 命令限时 {0} 秒。"),
    ("There is no command /{}. The commands are:", "没有命令 /{0}。可用的命令："),
    ("list your runners and where this chat's commands go", "列出你的运行器，并显示此会话的命令在何处运行"),
    (
        "send this chat's commands to NAME; `auto` follows your active runner again",
        "让此会话的命令在 NAME 上运行；`auto` 恢复跟随当前运行器",
    ),
    (
        "set what the model may do without asking: plan, ask, auto-edit or full",
        "设置哪些操作无需审批：plan、ask、auto-edit 或 full",
    ),
    ("show which model answers in this chat", "显示此会话由哪个模型回答"),
    (
        "choose NAME, NAME/TIER, NAME/MODEL, a tier (vanguard, balance or swift), or `default`",
        "选用 NAME、NAME/TIER、NAME/MODEL、某个级别（vanguard 先锋、balance 均衡、swift 快速）或 `default`",
    ),
    ("list the models you can choose", "列出可用的模型"),
    (
        "tokens and cost of this chat, of today and of the last 30 days",
        "此会话、今天及最近 30 天的 token 用量和费用",
    ),
    ("show what is remembered about you", "显示关于你的记忆"),
    ("remember TEXT in all chats", "在所有会话中记住 TEXT"),
    ("accept the proposal ID", "接受编号为 ID 的提议"),
    (
        "forget the memory ID, reject the proposal ID, or forget a memory by its name",
        "忘记记忆或拒绝提议（按编号 ID），或按名称忘记一条记忆",
    ),
    ("stop what is running in this chat", "停止此会话中正在运行的命令和回答"),
    ("list this chat's background commands and sub-agents", "列出此会话的后台命令和后台子智能体"),
    ("end one of these tasks, with everything it started", "结束其中一项及其启动的所有进程"),
    (
        "take back your last message and its answer, and restore the files it changed",
        "撤回你的上一条消息及其回答，并恢复被更改的文件",
    ),
    ("the same, overwriting changes made to those files since", "同上，并覆盖此后对这些文件所做的更改"),
    ("list your messages that can be taken back", "列出可以撤回的消息"),
    (
        "take back the last N messages; files stay, unless --files restores them",
        "撤回最近 N 条消息；文件保持不变，除非用 --files 恢复",
    ),
    ("the same for message #ID and everything after it", "同上，撤回消息 #ID 及其后的所有消息"),
    (
        "continue this conversation in a new chat; this one stays as it is",
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
    ("This chat's commands go to {} (bound).", "此会话的命令固定在 {0} 上运行。"),
    ("This chat's commands go to {}, your active runner.", "此会话的命令在你的当前运行器 {0} 上运行。"),
    (
        "Neither this chat nor your settings name a runner: if you have only one, it is used.",
        "此会话和你的设置都没有指定运行器：如果你只有一个运行器，则使用它。",
    ),
    (
        "/runner NAME binds this chat; /runner auto follows your active runner.",
        "/runner 名称 让此会话固定使用该运行器；/runner auto 跟随当前运行器。",
    ),
    ("You have no runner {}. Choose one of: {}.", "你没有运行器 {0}。可选：{1}。"),
    ("This chat's commands go to {} now.", "此会话的命令现在改在 {0} 上运行。"),
    ("{} However: {}", "{0}但请注意：{1}"),
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
        "/approval full       ask only before settings change or a command runs as the privileged user, or where a rule or hook says to ask",
        "/approval full       仅在更改设置、以特权用户身份运行命令，或有规则或钩子要求询问时询问",
    ),
    ("Choose one of: plan, ask, auto-edit, full.", "请选择：plan、ask、auto-edit、full。"),
    ("Write the command after the exclamation mark, like !ls -l", "请在感叹号后写命令，例如 !ls -l"),
    (
        "{} commands are already running in this chat. Wait for one to end, or stop them with /cancel.",
        "此会话已有 {0} 条命令在运行。请等待其中一条结束，或用 /cancel 停止。",
    ),
    ("Nothing is running in this chat.", "此会话中没有正在运行的命令或回答。"),
    ("The running command or answer is being stopped.", "正在停止运行中的命令或回答。"),
    ("The {} running commands and answers are being stopped.", "正在停止 {0} 个运行中的命令和回答。"),
    ("The waiting message is answered next.", "接下来将回答等待中的消息。"),
    ("The waiting messages are answered next.", "接下来将回答等待中的消息。"),
    (
        "No model is set up that could write a summary; add one with `sandbridge model add`.",
        "没有可以撰写摘要的模型；请用 `sandbridge model add` 添加。",
    ),
    ("The conversation will be compressed before the model is asked again.", "下次请求模型前会压缩对话。"),
    ("Nothing has been sent to the model in this chat yet.", "此会话中尚未向模型发送任何内容。"),
    ("This conversation now also continues in a new chat.", "此对话现在也可在新会话中继续。"),
    ("Nothing is remembered about you yet.", "尚未记住关于你的任何内容。"),
    ("{} is forgotten.", "已忘记 {0}。"),
    ("There is no memory {}; /memory lists the memories.", "找不到记忆 {0}；/memory 会列出所有记忆。"),
    (
        "Write /memory, /memory add TEXT, /memory accept ID, or /memory forget ID.",
        "请输入 /memory、/memory add 内容、/memory accept 编号 或 /memory forget 编号。",
    ),
    ("Memories that were recalled with the last message:", "随最近一条消息调取的记忆："),
    ("Proposals, which are used only if you accept them:", "提议（只有你接受后才会使用）："),
    ("it would be replaced", "将被取代"),
    ("replaced by #{}", "已被 #{0} 取代"),
    ("Remembered as #{}.", "已记住，编号 #{0}。"),
    (
        "There is no proposal {}; /memory lists the proposals.",
        "没有编号为 {0} 的提议；/memory 会列出所有提议。",
    ),
    ("A new chat was started.", "已新建会话。"),
    ("{} answers in this chat, {}.", "此会话由 {0} 回答（{1}）。"),
    ("which follows your default", "沿用你的默认模型"),
    ("as chosen here ({})", "在此会话中指定：{0}"),
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
    (
        "This chat has no task {}; /tasks lists this chat's tasks.",
        "此会话没有任务 {0}；/tasks 会列出现有任务。",
    ),
    ("Task {} has ended.", "任务 {0} 已结束。"),
    ("Task {} was not ended: {}", "任务 {0} 未能结束：{1}"),
    ("Task {} was asked to stop, but has not ended yet.", "已要求任务 {0} 停止，但它尚未结束。"),
    ("Sub-agents that have ended: {}", "已结束的子智能体：{0}"),
    (
        "A sub-agent has ended. The last {} answers began without a message from you, so this one waits for your next message.",
        "一个子智能体已结束。最近 {0} 次回答都不是由你的消息引发的，因此它的结果会等到你的下一条消息再处理。",
    ),
    (
        "A sub-agent of that answer is still at work in the background. Wait until it ends, or stop it with /cancel, before you take anything back.",
        "该回答调用的一个子智能体仍在后台工作。请等待其结束，或用 /cancel 停止，然后再撤回。",
    ),
    ("There is nothing to take back in this chat.", "此会话中没有可以撤回的内容。"),
    ("Only {} of the messages in this chat can be taken back.", "此会话中只有 {0} 条消息可以撤回。"),
    (
        "An answer is under way in this chat. Wait until it ends, or stop it with /cancel, before you take anything back.",
        "此会话中有回答正在进行。请等待其结束，或用 /cancel 停止，然后再撤回。",
    ),
    ("Your last messages, newest first:", "你最近的消息，最新的在前："),
    (
        "/rewind N takes back the last N of them; --files also restores the files they changed.",
        "/rewind N 撤回最近 N 条；--files 同时恢复它们更改的文件。",
    ),
    ("Taken back: “{}”", "已撤回：“{0}”"),
    ("Taken back: {} messages, from “{}” on", "已撤回：从“{1}”开始的 {0} 条消息"),
    ("Restored: {}", "已恢复：{0}"),
    ("Removed: {}", "已删除：{0}"),
    ("Not restored: {} on {}: {}", "未恢复 {1} 上的 {0}：{2}"),
    ("Not restored: {} more", "另有 {0} 个文件未恢复"),
    ("it was too large to be kept", "文件太大，没有保留更改前的内容"),
    ("it could not be read before it was changed", "更改前无法读取该文件"),
    ("its earlier content is no longer kept", "更改前的内容已不再保留"),
    (
        "Nothing was taken back. Changed since by somebody else, or by a command: {}",
        "未撤回任何内容。以下文件之后又被他人或某条命令更改：{0}",
    ),
    (
        "Nothing was taken back. Changed since by somebody else, or by a command: {} and {} more",
        "未撤回任何内容。以下文件之后又被他人或某条命令更改：{0}，以及另外 {1} 个文件",
    ),
    (
        "{} restores them anyway; /rewind {} takes back the conversation alone.",
        "{0} 可强制恢复这些文件；/rewind {1} 仅撤回对话。",
    ),
    (
        "The conversation stays as it is. Try again, or take back the conversation alone with /rewind {}.",
        "对话保持不变。请重试，或用 /rewind {0} 仅撤回对话。",
    ),
    ("Files stay as they are.", "文件保持不变。"),
    (
        "A command ran in the part that was taken back; what it changed stays as it is.",
        "撤回的部分中运行过一条命令；它所做的更改会保留。",
    ),
    (
        "{} commands ran in the part that was taken back; what they changed stays as it is.",
        "撤回的部分中运行过 {0} 条命令；它们所做的更改会保留。",
    ),
    // Notices about answers.
    (
        "⏳ Other answers are under way; this one begins when one of them ends.",
        "⏳ 有其他回答正在进行；其中一个结束后才会开始此回答。",
    ),
    ("⚠️ {}: {}. {} answers instead.", "⚠️ {0}：{1*}。改由 {2} 回答。"),
    ("The conversation was not compressed: {}.", "对话未压缩：{0}。"),
    ("The conversation was not compressed: nothing has been said yet.", "对话未压缩：还没有任何内容。"),
    (
        "🗜️ The conversation was compressed: about {} → {} of {} tokens. You still see all of it; the model goes on from a summary.",
        "🗜️ 对话已压缩：约 {0} → {1} 个 token（上下文窗口 {2}）。你仍能看到全部内容；模型将从摘要继续。",
    ),
    (
        "⚠️ The conversation was not compressed: {}. Nothing was changed; it is not retried automatically for {} answers.",
        "⚠️ 对话未压缩：{0}。未做任何更改；接下来 {1} 次回答期间不会自动重试压缩。",
    ),
    ("there is nothing in it to leave out", "其中没有可以省略的内容"),
    ("that would save less than {} %", "节省的空间不足 {0}%"),
    ("the model wrote no summary", "模型没有写出摘要"),
    ("it was cancelled", "已取消"),
    // More answers of slash commands.
    (
        "No model is set up, so nothing can answer this yet. Add one of your own: in the browser under Settings, Models, or with `sandbridge model add`. Or the server's administrator can set one up for everybody with",
        "尚未设置模型，因此还无法回答。请添加你自己的模型：在网页设置的“模型”中添加，或用 `sandbridge model add`。服务器管理员也可以用以下环境变量为所有人设置：",
    ),
    ("SANDBRIDGE_LLM_PROVIDER   openai or anthropic", "SANDBRIDGE_LLM_PROVIDER   openai 或 anthropic"),
    (
        "SANDBRIDGE_LLM_BASE_URL   the address of the provider's API",
        "SANDBRIDGE_LLM_BASE_URL   提供商接口的地址",
    ),
    (
        "SANDBRIDGE_LLM_API_KEY    the key (or SANDBRIDGE_LLM_API_KEY_FILE, a file that holds it)",
        "SANDBRIDGE_LLM_API_KEY    密钥（或 SANDBRIDGE_LLM_API_KEY_FILE，即存放密钥的文件）",
    ),
    ("SANDBRIDGE_LLM_MODEL      the name of the model", "SANDBRIDGE_LLM_MODEL      模型名称"),
    (
        "and restart the server. Commands work without a model: try !pwd, or /help.",
        "然后重启服务器。没有模型也可以运行命令：试试 !pwd 或 /help。",
    ),
    (
        "Write /undo, or /undo force. /rewind takes back more than one message.",
        "请输入 /undo 或 /undo force。/rewind 可以撤回多条消息。",
    ),
    (
        "Write /rewind N for the last N messages, or /rewind #ID; --files also restores the files they changed. /rewind alone lists the messages.",
        "请输入 /rewind N 撤回最近 N 条消息，或 /rewind #ID；加上 --files 会同时恢复文件。只输入 /rewind 会列出消息。",
    ),
    (
        "Write /fork, /fork N to leave out the last N messages, or /fork #ID to stop at that message; /rewind lists the messages.",
        "请输入 /fork、/fork N（不含最近 N 条消息）或 /fork #ID（只到消息 #ID）。/rewind 会列出消息。",
    ),
    (
        "That is not an answered message of this chat; /rewind lists the answered messages.",
        "这不是此会话中已回答的消息；/rewind 会列出已回答的消息。",
    ),
    (
        "This is a sub-agent's chat; to take back what it did, go to the chat whose agent called it.",
        "这是子智能体的会话；请在调用它的智能体的会话中撤回。",
    ),
    (
        "Message #{} cannot be taken back in this chat; /rewind lists those that can.",
        "此会话中无法撤回消息 #{0}；/rewind 会列出可以撤回的消息。",
    ),
    (
        "Nothing was taken back: {}. Files can be restored only while their machine is connected; try again when it is back, or take back the conversation alone with /rewind.",
        "未撤回任何内容：{0*}。只有机器处于连接状态时才能恢复文件；请待其恢复连接后重试，或用 /rewind 仅撤回对话。",
    ),
    ("The content to restore is no longer kept; try again.", "要恢复的内容已不再保留；请重试。"),
    ("Restored: {} and {} more", "已恢复：{0}，以及另外 {1} 个文件"),
    ("Removed: {} and {} more", "已删除：{0}，以及另外 {1} 个文件"),
    ("requests", "请求数"),
    ("input", "输入"),
    ("of which cached", "其中来自缓存"),
    ("output", "输出"),
    ("cost", "费用"),
    ("this chat", "此会话"),
    ("today (UTC)", "今天（UTC）"),
    ("{} days", "{0} 天"),
    ("the server's own, for everybody", "服务器自带，供所有人使用"),
    ("yours, through runner {}", "你的，经由运行器 {0}"),
    ("yours, at {}", "你的，地址 {0}"),
    (", the default tier", "，默认级别"),
    ("◀ answers here", "◀ 当前会话使用"),
    ("fallback: {}", "备用：{0}"),
    ("online", "在线"),
    ("offline", "离线"),
    ("available", "可用"),
    ("not available", "不可用"),
    ("bound here", "固定于此会话"),
    ("active", "当前"),
    ("refused: lacks {}", "已拒绝：缺少 {0}"),
    ("running", "运行中"),
    ("exit code {}", "退出码 {0}"),
    ("killed by signal {}", "被信号 {0} 终止"),
    ("timed_out", "已超时"),
    ("cancelled", "已取消"),
    ("queued", "排队中"),
    ("done", "已完成"),
    ("interrupted", "已中断"),
    ("sub-agent", "子智能体"),
    ("failed", "失败"),
    ("lost", "已失联"),
    // Questions that were answered already.
    ("allow", "已允许"),
    ("deny", "已拒绝"),
    ("nobody there", "无人应答"),
    ("answered", "已回答"),
    ("declined", "已拒绝"),
];
