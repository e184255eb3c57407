//! Groups and chains.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    ("the message is empty; write something", "消息为空，请输入内容"),
    ("nobody was asked: the group has no agents", "没有询问任何智能体：群组中没有智能体"),
    (
        "nobody was asked: you may ask none of the group's agents",
        "没有询问任何智能体：你无权询问群组中的任何智能体",
    ),
    (
        "nobody was asked: mention an agent with @handle, or choose a lead",
        "没有询问任何智能体：请用 @名称 提及一个智能体，或指定主智能体",
    ),
    ("there is no agent @{} in this group", "此群组中没有智能体 @{0}"),
    ("there is no chain {} in this group", "此群组中没有链 {0}"),
    ("there is no user {} on this server", "此服务器上没有用户 {0}"),
    ("{} is not in this group", "{0} 不在此群组中"),
    ("{} is not in this group; add them first", "{0} 不在此群组中，请先添加"),
    (
        "you are a {} of this group, and this needs {} or more; ask an owner of the group",
        "你在此群组中的权限是 {0}，此操作需要 {1} 或更高权限；请联系群组所有者",
    ),
    (
        "@{} works on a machine of {}, who has not let you ask it; ask them for a grant",
        "@{0} 在 {1} 的机器上工作，对方尚未授权你询问它；请向对方申请授权",
    ),
    (
        "@{} works on a machine of {}: only they grant its use",
        "@{0} 在 {1} 的机器上工作：只有对方可以授权使用",
    ),
    ("the agent is yours: you may ask it without a grant", "这是你自己的智能体：无需授权即可询问"),
    ("{} has no grant for @{}", "{0} 没有 @{1} 的授权"),
    ("@{} asks everyone; choose another handle", "@{0} 表示询问所有智能体，请换一个名称"),
    ("@{} could not answer: {}", "@{0} 未能回答：{1*}"),
    (
        "The agents have exchanged {} messages since {} asked, and stop here. Ask one of them to go on.",
        "自 {1} 提问以来，智能体之间已交换 {0} 条消息，现已停止。如需继续，请询问其中一个智能体。",
    ),
    ("the agent was removed from the group", "该智能体已被移出群组"),
    ("the person who asked was removed from this server", "提问的用户已从此服务器移除"),
    (
        "the person who asked may not ask agents in this group any more",
        "提问的用户已无权在此群组中询问智能体",
    ),
    ("the budget of the chain's run is used up", "本次链运行的预算已用完"),
    (
        "a message that asks an agent has at most {} bytes; shorten it, or put the text into a file of its workspace",
        "向智能体提问的消息最多 {0} 字节；请缩短消息，或将文本放入其工作区的文件中",
    ),
    ("the agent's owner was removed from this server", "该智能体的所有者已从此服务器移除"),
    ("the agent's chat was deleted", "该智能体的会话已被删除"),
    ("no model answered; its owner chooses a model", "没有模型作答；请其所有者选择模型"),
    ("its answer was taken back", "其回答已被撤回"),
    ("it was stopped", "已停止"),
    ("it took longer than its limit of {} s", "用时超过 {0} 秒的限制"),
    ("The chain {} is done.", "链 {0} 已完成。"),
    ("The chain {} was stopped.", "链 {0} 已停止。"),
    ("The chain {} was stopped. {}", "链 {0} 已停止。{1*}"),
    (
        "Step {} of @{} is done. Does its output go to the next step?",
        "第 {0} 步（@{1}）已完成。是否将其输出交给下一步？",
    ),
    (
        "Step {} of @{} failed: {}. Try again, write its output yourself, or stop?",
        "第 {0} 步（@{1}）失败：{2}。重试、自行填写输出，还是停止？",
    ),
    (
        "The budget is used up before step {} of @{}: {} tokens, ${}.{}. May the run use the budget once more?",
        "在第 {0} 步（@{1}）之前预算已用完：{2} 个 token，${3}.{4}。是否允许再使用一份预算？",
    ),
    (
        "Step {} of @{} handed files to @{}: they are on {}, in {} (files: {}, bytes: {}).",
        "第 {0} 步（@{1}）已将文件交给 @{2}：位于 {3} 的 {4}（文件数：{5}，字节数：{6}）。",
    ),
    ("the files of step {} are on {}, which is offline", "第 {0} 步的文件在 {1} 上，该机器当前离线"),
    ("the files of step {} are on their way from {} to {}", "第 {0} 步的文件正在从 {1} 传往 {2}"),
    ("the files of step {} could not be passed on: {}", "第 {0} 步的文件无法传递：{1*}"),
    ("@{} was removed from the group", "@{0} 已被移出群组"),
    ("@{} works on another machine since they arrived; try again", "文件送达之后，@{0} 换了机器；请重试"),
    ("the owner of @{} was removed from this server", "@{0} 的所有者已从此服务器移除"),
    ("the runner {} was revoked", "运行器 {0} 已吊销"),
    (
        "the runner {} was revoked; its owner chooses another machine for @{}",
        "运行器 {0} 已吊销；请其所有者为 @{1} 选择另一台机器",
    ),
    ("its outputs are on {}, which is offline", "其输出在 {0} 上，该机器当前离线"),
    ("its outputs cannot be passed on: {}", "其输出无法传递：{0*}"),
    ("it ended without its outputs: {}", "结束时缺少以下输出：{0}"),
    ("these outputs do not exist any more: {}", "这些输出已不存在：{0}"),
    ("reading {} on {}: {}", "读取 {1} 上的 {0}：{2*}"),
    ("writing {} on {}: {}", "写入 {1} 上的 {0}：{2*}"),
    ("the machine did not answer in time", "机器未及时响应"),
    ("the machine names a path that leads out of the workspace", "机器给出的路径超出了工作区"),
    (
        "the search for {} has too much to look through; name a directory",
        "查找 {0} 时要搜索的内容过多；请指定一个目录",
    ),
    (
        "there may be at most {} files, directories and links, with {} MiB; name fewer outputs, or pack them",
        "文件、目录和链接最多 {0} 个，总计最多 {1} MiB；请减少输出，或将其打包",
    ),
    ("a permission rule of {} denies reading {}", "{0} 的权限规则禁止读取 {1}"),
    ("the permission rules of @{} could not be read", "无法读取 @{0} 的权限规则"),
    ("something writes to them while they are read", "读取期间有程序在写入这些文件"),
    (
        "something on {} writes to them while they are read; try again when nothing does",
        "读取期间 {0} 上有程序在写入这些文件；请待写入结束后重试",
    ),
    ("what arrived is not what was read; try again", "收到的内容与读取的内容不一致；请重试"),
    ("{} and {} names like it are taken on {}", "{2} 上的 {0} 及 {1} 个类似名称均已被占用"),
    ("the server could not record it; its log has the reason", "服务器无法记录此事；原因见服务器日志"),
    (
        "at most {} outputs are possible; name a directory that holds them",
        "最多可有 {0} 个输出；请指定包含它们的目录",
    ),
    (
        "`{}` cannot be an output: name a path in the workspace, such as data.csv, report/ or logs/*.txt",
        "`{0}` 不能作为输出：请指定工作区中的路径，例如 data.csv、report/ 或 logs/*.txt",
    ),
    (
        "step {}: no step follows that gets `{}`; take its outputs away, or add a step",
        "第 {0} 步：后面没有步骤接收 `{1}`；请去掉其输出，或增加一步",
    ),
    ("the answer was not taken: {}", "回答未被采纳：{0*}"),
    ("its run has ended", "该次运行已结束"),
    ("{} answered it before", "{0} 已先行回答"),
    (
        "the edited text is empty; write what goes to the next step",
        "修改后的文本为空，请填写交给下一步的内容",
    ),
    (
        "give one of the chain's steps, the chain as text, or a file with this text",
        "请提供以下之一：链的步骤、文本形式的链，或含有该文本的文件",
    ),
    ("only {} may read a chain from the workspace of @{}", "只有 {0} 可以从 @{1} 的工作区读取链"),
    (
        "`{}` is no path of a file in the workspace; write it like chains/story.md",
        "`{0}` 不是工作区中文件的路径；请写成类似 chains/story.md 的形式",
    ),
    ("the file {} cannot be read: {}", "无法读取文件 {0}：{1*}"),
    ("the file {} was not read in time; try again", "未能及时读取文件 {0}；请重试"),
    ("the file {} is no text", "文件 {0} 不是文本"),
    (
        "{} was removed from this server. {} owns the group now.",
        "{0} 已从此服务器移除。{1} 现在是群组的所有者。",
    ),
    (
        "a chain needs at least one step, such as `1. @writer: Write a story.`",
        "链至少需要一步，例如 `1. @writer: Write a story.`",
    ),
];
