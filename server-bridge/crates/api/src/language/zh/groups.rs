//! Groups and chains.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    ("the message is empty; write something", "消息为空；请输入内容"),
    ("nobody was asked: the group has no agents", "没有询问任何智能体：群组中没有智能体"),
    (
        "nobody was asked: you have no permission to ask any of the group's agents",
        "没有询问任何智能体：你无权询问群组中的任何智能体",
    ),
    (
        "nobody was asked: mention an agent with @handle, or choose a lead agent",
        "没有询问任何智能体：请用 @名称 提及一个智能体，或指定主智能体",
    ),
    (
        "you are in no group called {}; `sandbridge group list` lists your groups",
        "你不在群组 {0} 中；`sandbridge group list` 会列出你所在的群组",
    ),
    (
        "you are in several groups called {}; use a group's id instead: {}",
        "你在多个名为 {0} 的群组中；请用编号指定其中一个：{1}",
    ),
    ("there is no agent @{} in this group", "此群组中没有智能体 @{0}"),
    ("there is no chain {} in this group", "此群组中没有链 {0}"),
    (
        "there is already a chain {} in this group; choose another name, or say that it is to be replaced",
        "此群组中已有链 {0}；请换一个名称，或说明要替换它",
    ),
    (
        "the chain {} was changed or removed meanwhile; load it again, then make your change",
        "链 {0} 在此期间已被修改或移除；请重新加载后再修改",
    ),
    ("there is no user {} on this server", "本服务器上没有用户 {0}"),
    ("{} is not in this group", "{0} 不在此群组中"),
    ("{} is not in this group; add them first", "{0} 不在此群组中；请先添加"),
    (
        "you are a {} of this group, and this needs {} access or higher; ask an owner of the group",
        "你在此群组中的权限是“{0*}”，此操作需要“{1*}”或更高权限；请联系群组所有者",
    ),
    (
        "@{} works on a machine of {}, who has not let you ask it; ask them for a grant",
        "@{0} 在 {1} 的机器上工作，对方尚未授权你询问它；请向对方申请授权",
    ),
    (
        "@{} works on a machine of {}: only they can grant its use",
        "@{0} 在 {1} 的机器上工作：只有对方可以授权使用",
    ),
    ("this agent is yours: you can ask it without a grant", "这是你自己的智能体：无需授权即可询问"),
    ("{} has no grant for @{}", "{0} 没有 @{1} 的授权"),
    ("@{} asks everyone; choose another handle", "@{0} 表示询问所有智能体；请换一个名称"),
    ("@{} could not answer: {}", "@{0} 未能回答：{1*}"),
    (
        "The agents have exchanged {} messages since {} asked, and stop here until a person lets them go on.",
        "自 {1} 提问以来，智能体之间已交换 {0} 条消息，现已停止，等待有人允许它们继续。",
    ),
    (
        "The agents have exchanged {} messages since {} asked, and stopped. May they exchange as many again?",
        "自 {1} 提问以来，智能体之间已交换 {0} 条消息，现已停止。是否允许它们再交换同样多的消息？",
    ),
    (
        "The agents have exchanged {} messages in step {} (@{}) and stopped. Does its output go to the next step, or is the step done again?",
        "在第 {1} 步（@{2}）中，智能体之间已交换 {0} 条消息，现已停止。是将其输出交给下一步，还是重做这一步？",
    ),
    ("makes or changes a chain of the group", "新建或修改群组的链"),
    ("the agent was removed from the group", "该智能体已被移出群组"),
    ("the person who asked was removed from this server", "提问的用户已从本服务器移除"),
    (
        "the person who asked no longer has permission to ask agents in this group",
        "提问的用户已无权在此群组中询问智能体",
    ),
    ("the budget of the chain's run is used up", "链的本次运行已用完预算"),
    (
        "the server could not read the budget of the chain's run, so it asked no model; its log says why; try again in a moment",
        "服务器无法读取链的本次运行的预算，因此没有请求模型；原因见服务器日志；请稍后重试",
    ),
    (
        "a message that asks an agent can have at most {} bytes; shorten it, or put the text into a file in the agent's workspace",
        "向智能体提问的消息最多 {0} 字节；请缩短消息，或将文本放入其工作区的文件中",
    ),
    ("the agent's owner was removed from this server", "该智能体的所有者已从本服务器移除"),
    ("the agent's chat was deleted", "该智能体的会话已被删除"),
    ("no model answered; the agent's owner must choose a model", "没有模型回答；请智能体的所有者选择模型"),
    ("its answer was undone", "其回答已被撤回"),
    ("it was stopped", "已停止"),
    ("it took longer than its limit of {} s", "用时超过 {0} 秒的限制"),
    ("The chain {} is done.", "链 {0} 已完成。"),
    ("The chain {} was stopped.", "链 {0} 已停止。"),
    ("The chain {} was stopped. {}", "链 {0} 已停止。{1*}"),
    (
        "Step {} (@{}) is done. Does its output go to the next step?",
        "第 {0} 步（@{1}）已完成。是否将其输出交给下一步？",
    ),
    (
        "Step {} (@{}) failed: {}. Try again, write its output yourself, or stop?",
        "第 {0} 步（@{1}）失败：{2}。重试、自行填写输出，还是停止？",
    ),
    (
        "The budget is used up before step {} (@{}): {} tokens, ${}.{}. May the run use the budget once more?",
        "在第 {0} 步（@{1}）之前预算已用完：{2} 个 token，${3}.{4}。是否再追加同样的预算？",
    ),
    (
        "The budget was used up during step {} (@{}): {} tokens, ${}.{}. May the run use the budget once more, and do the step again?",
        "第 {0} 步（@{1}）进行中预算已用完：{2} 个 token，${3}.{4}。是否再追加同样的预算并重做这一步？",
    ),
    (
        "Step {} (@{}) handed files to @{}: they are on {}, in {} (files: {}, bytes: {}).",
        "第 {0} 步（@{1}）已将文件交给 @{2}：位于 {3} 的 {4}（文件数：{5}，字节数：{6}）。",
    ),
    ("the files of step {} are on {}, which is offline", "第 {0} 步的文件在 {1} 上，该机器当前离线"),
    ("the files of step {} are on their way from {} to {}", "第 {0} 步的文件正在从 {1} 传往 {2}"),
    ("the files of step {} could not be passed on: {}", "第 {0} 步的文件无法传递：{1*}"),
    ("@{} was removed from the group", "@{0} 已被移出群组"),
    (
        "@{} has moved to another machine or folder since the files arrived; try again",
        "文件送达之后，@{0} 换了机器或文件夹；请重试",
    ),
    ("the owner of @{} was removed from this server", "@{0} 的所有者已从本服务器移除"),
    ("the runner {} was revoked", "运行器 {0} 已吊销"),
    (
        "the runner {} was revoked; the agent's owner must choose another machine for @{}",
        "运行器 {0} 已吊销；请 @{1} 的所有者为它选择另一台机器",
    ),
    ("its outputs are on {}, which is offline", "其输出在 {0} 上，该机器当前离线"),
    ("the step's outputs cannot be passed on: {}", "其输出无法传递：{0*}"),
    ("the step ended without its outputs: {}", "结束时缺少以下输出：{0}"),
    ("these outputs no longer exist: {}", "这些输出已不存在：{0}"),
    ("reading {} on {}: {}", "读取 {1} 上的 {0} 时出错：{2*}"),
    ("writing {} on {}: {}", "写入 {1} 上的 {0} 时出错：{2*}"),
    ("the machine did not answer in time", "机器未及时响应"),
    ("the machine returned a path outside the workspace", "机器给出的路径超出了工作区"),
    (
        "the search for {} would have to look through too many files; name a directory instead",
        "查找 {0} 时要搜索的内容过多；请指定一个目录",
    ),
    (
        "the limit is {} files, directories and links, and {} MiB in total; name fewer outputs, or pack them into an archive",
        "文件、目录和链接最多 {0} 个，总计最多 {1} MiB；请减少输出，或将其打包",
    ),
    ("a permission rule of {} denies reading {}", "{0} 的权限规则禁止读取 {1}"),
    ("the permission rules of @{} could not be read", "无法读取 @{0} 的权限规则"),
    ("something keeps changing them while they are being read", "读取期间有程序在写入这些文件"),
    (
        "something on {} keeps changing the files while they are being read; try again when nothing changes them any more",
        "读取期间 {0} 上有程序在写入这些文件；请待写入结束后重试",
    ),
    (
        "the files that arrived differ from those that were read; try again",
        "收到的内容与读取的内容不一致；请重试",
    ),
    ("{} and {} names like it are taken on {}", "{2} 上的 {0} 及 {1} 个类似名称均已被占用"),
    (
        "the server could not record the hand-over; see the server's log for the reason",
        "服务器未能保存交接记录；原因见服务器日志",
    ),
    (
        "a step can have at most {} outputs; name a directory that contains them",
        "最多可有 {0} 个输出；请指定包含它们的目录",
    ),
    (
        "`{}` cannot be an output: name a path in the workspace, such as data.csv, report/ or logs/*.txt",
        "`{0}` 不能作为输出：请指定工作区中的路径，例如 data.csv、report/ 或 logs/*.txt",
    ),
    (
        "step {}: no later step receives `{}`; remove its outputs, or add a step",
        "第 {0} 步：后面没有步骤接收 `{1}`；请去掉该步的输出，或增加一步",
    ),
    ("the answer was not accepted: {}", "回答未被采纳：{0*}"),
    ("its run has ended", "该次运行已结束"),
    ("{} answered it before", "{0} 已先行回答"),
    (
        "the edited text is empty; write the text that goes to the next step",
        "修改后的文本为空；请填写交给下一步的内容",
    ),
    (
        "provide exactly one of: the chain's steps, the chain as text, or a file that contains this text",
        "请提供以下之一：链的步骤、文本形式的链，或含有该文本的文件",
    ),
    ("only {} can read a chain from the workspace of @{}", "只有 {0} 可以从 @{1} 的工作区读取链"),
    (
        "`{}` is not the path of a file in the workspace; write it like chains/story.md",
        "`{0}` 不是工作区中文件的路径；请写成类似 chains/story.md 的形式",
    ),
    (
        "`{}` cannot be the folder of an agent: name a folder in the workspace of its machine, such as agents/coder",
        "`{0}` 不能作为智能体的文件夹：请指定其机器工作区中的文件夹，例如 agents/coder",
    ),
    (
        "@{} works on a machine of {}: only they can see and create its workspace",
        "@{0} 在 {1} 的机器上工作：只有 {1} 能查看和创建其工作区",
    ),
    ("the workspace of @{} cannot be reached: {}", "无法访问 @{0} 的工作区：{1*}"),
    (
        "the workspace of @{} cannot be reached: {}; try again once this is fixed",
        "无法访问 @{0} 的工作区：{1*}；请解决后重试",
    ),
    (
        "the workspace of @{} cannot be reached: {}; choose another machine for the agent",
        "无法访问 @{0} 的工作区：{1*}；请为该智能体选择其他机器",
    ),
    ("the folder {} on {} cannot be made: {}", "无法创建 {1} 上的文件夹 {0}：{2*}"),
    ("the folder {} on {} cannot be used: {}", "无法使用 {1} 上的文件夹 {0}：{2*}"),
    ("the workspace of {} cannot be made: {}", "无法创建 {0} 的工作区：{1*}"),
    ("the workspace of {} cannot be used: {}", "无法使用 {0} 的工作区：{1*}"),
    ("the folder {} was removed in the meantime; try again", "文件夹 {0} 在此期间被删除；请重试"),
    ("{} on {} cannot be written: {}", "无法写入 {1} 上的 {0}：{2*}"),
    (
        "{}; created before that: {}. Create the missing files once the problem is fixed",
        "{0*}；在此之前已创建：{1}。问题解决后请创建缺少的文件",
    ),
    ("a file has this name; choose another folder", "已有同名文件；请选择其他文件夹"),
    ("{} did not answer in time; try again", "{0} 未及时响应；请重试"),
    (
        "the runner {} is too old to create workspaces; update it",
        "运行器 {0} 的版本过旧，无法创建工作区；请更新",
    ),
    ("it is not a file", "它不是文件"),
    ("it is a link that leads nowhere", "它是链接，但目标不存在"),
    ("there is no template {}; choose one of: {}", "没有模板 {0}；可选：{1}"),
    ("{} is not a document of a workspace; the documents are {}", "{0} 不是工作区文档；工作区文档有：{1}"),
    ("{} is given twice; give only one text for it", "{0} 给出了两次；请只给出一份内容"),
    (
        "{} has {} bytes, but an agent reads at most {} bytes of it; shorten it",
        "{0} 有 {1} 字节；智能体最多读取 {2} 字节：请缩短",
    ),
    ("{} is not text; remove its zero bytes", "{0} 不是文本；请去掉其中的 NUL 字节"),
    (
        "there is nothing to create: choose a template, or give the text of a document",
        "没有可创建的内容：请选择模板，或给出某个文档的内容",
    ),
    (
        "the workspace could not be created; see the server's log for the reason",
        "未能创建工作区；原因见服务器日志",
    ),
    ("the file {} cannot be read: {}", "无法读取文件 {0}：{1*}"),
    ("the file {} was not read in time; try again", "未能及时读取文件 {0}；请重试"),
    ("the file {} is not text", "文件 {0} 不是文本"),
    (
        "{} was removed from this server. {} owns the group now.",
        "{0} 已从本服务器移除。{1} 现在是群组的所有者。",
    ),
    ("group", "群组"),
    ("the group", "群组"),
    ("chain", "链"),
    ("the chain", "链"),
    ("agent", "智能体"),
    (
        "{} exceeds the limit: you already own {}; delete one first",
        "{0}已达上限：你已拥有 {1} 个；请先删除一个",
    ),
    (
        "{} exceeds the limit: the group already has {}; remove one first",
        "{0}已达上限：群组已有 {1} 个；请先移除一个",
    ),
    (
        "a chain needs at least one step, such as `1. @writer: Write a story.`",
        "链至少需要一步，例如 `1. @writer: 写一个故事。`",
    ),
    ("reader", "查看者"),
    ("member", "成员"),
    ("editor", "编辑者"),
    ("owner", "所有者"),
    ("the agent", "智能体"),
    (
        "{} already has {} unanswered requests; wait until it has answered some",
        "{0}已有 {1} 项请求尚未回答；请待其回答其中一些后重试",
    ),
    ("{} has {} people, which is the limit; remove one first", "{0}的人数已达上限（{1} 人）；请先移除一人"),
    ("{} has {} agents, which is the limit; remove one first", "{0}的智能体已达上限（{1} 个）；请先移除一个"),
    (
        "{} has {} runs of chains in progress, which is the limit; stop one first",
        "{0}中正在运行的链已达上限（{1} 条）；请先停止一条",
    ),
    (
        "{} would have no owner; make someone else an owner first, or delete the group",
        "这样{0}将没有所有者；请先将其他人设为所有者，或删除群组",
    ),
    ("there is no call {} in this group", "此群组中没有编号为 {0} 的请求"),
    (
        "a handle must have 1 to {} letters, digits, '-' or '_', and begin with a letter or a digit",
        "名称须为 1 至 {0} 个字符，可用字母（含汉字）、数字、“-”和“_”，并以字母或数字开头",
    ),
    (
        "{} is not an approval mode; use plan, ask, auto-edit or full",
        "{0} 不是审批模式；请使用 plan、ask、auto-edit 或 full",
    ),
    ("name 1 to {} tools, or '*' for all of your tools", "请列出 1 至 {0} 个工具；“*”表示你的全部工具"),
    (
        "{} is not the name of a tool: use letters, digits, '_' and '-', and '*' for any text",
        "{0} 不是工具名：可用字母、数字、“_”和“-”，“*”表示任意文字",
    ),
    ("{} is not a mode of a grant; use ask or own", "{0} 不是有效的授权方式；请使用 ask 或 own"),
    (
        "{} is not a kind of access; use owner, editor, member or reader",
        "{0} 不是有效的权限；请使用 owner、editor、member 或 reader",
    ),
    ("the message could not be posted", "消息未能发送"),
    (
        "the server could not ask the agent; see the server's log for the reason",
        "服务器未能询问智能体；原因见服务器日志",
    ),
    ("its answer was stopped", "回答已停止"),
    // Definitions and runs of chains.
    ("step {}: {}", "第 {0} 步：{1*}"),
    ("line {}: {}", "第 {0} 行：{1*}"),
    (
        "describe the request that the chain is to work on, in at most {} bytes",
        "请写明要让链完成的工作，最多 {0} 字节",
    ),
    ("this gate accepts only these replies: {}", "此处的人工确认只接受以下回复：{0}"),
    ("The person who began it was removed.", "发起它的用户已被移除。"),
    ("The agent that began it was stopped.", "发起它的智能体已停止。"),
    (
        "this version of the server cannot read the chain; update the server, or define the chain again",
        "此版本的服务器无法读取该链；请更新服务器，或重新设置该链",
    ),
    ("a chain can have at most {} steps; split it into two chains", "一条链最多 {0} 步；请拆成两条"),
    ("name its agent by the handle, such as @writer", "请填写智能体的名称，例如 @writer"),
    ("write what @{} is to do", "请写明 @{0} 要做什么"),
    (
        "the instruction can have at most {} bytes; put the rest into a file",
        "指令最多 {0} 字节；请把其余内容放到文件中",
    ),
    ("a step can have at most {} retries", "最多可重试 {0} 次"),
    ("the time limit of an attempt must be from 10s to 24h", "每次尝试的时限必须在 10s 至 24h 之间"),
    ("a budget must be greater than zero; leave it out for no limit", "预算必须大于零；不限预算时请不要填写"),
    ("the time of a budget must be from 10s to 30d", "预算的时间必须在 10s 至 30d 之间"),
    ("the text of a chain can have at most {} bytes", "链的文本最多 {0} 字节"),
    ("the budget is given twice; keep one of the lines", "预算写了两次；请只保留一行"),
    (
        "write the budget as `budget: 200000 tokens, $2.50, 1h`, or as any part of that",
        "请将预算写成 `budget: 200000 tokens, $2.50, 1h`，或只写其中一部分",
    ),
    (
        "begin each step with its number and its agent, such as `1. @writer: Write a story.`",
        "请以编号和智能体作为每一步的开头，例如 `1. @writer: 写一个故事。`",
    ),
    ("`[{}]` needs a number, such as [retries 2]", "`[{0}]` 需要一个数字，例如 [retries 2]"),
    ("`[{}]` needs a time, such as [limit 10m]", "`[{0}]` 需要一个时长，例如 [limit 10m]"),
    // Ends of runs, and files that cannot be handed over.
    ("{} stopped it.", "由 {0} 停止。"),
    ("the machine returned a path outside the agent's folder", "机器给出的路径超出了智能体的文件夹"),
];
