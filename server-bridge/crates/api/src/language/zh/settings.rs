//! Settings, models and keys.

use super::Row;

/// The texts of this part.
pub(super) const TABLE: &[Row] = &[
    (
        "the API key {} has no permission to do this; log in and do it yourself",
        "API 密钥（{0}）无权执行此操作；请登录后自行操作",
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
        "the provider has no such model ({}); check its name, or choose another model",
        "提供商没有这个模型（{0}）；请检查模型名称，或选择其他模型",
    ),
    ("the conversation is too long for the model ({})", "对话超出了模型的长度限制（{0}）"),
    ("the provider's rate limit is reached ({})", "已达到提供商的速率限制（{0}）"),
    ("the provider reports that the account has no credit left ({})", "提供商报告账户额度已用完（{0}）"),
    ("the provider failed ({})", "提供商出错（{0}）"),
    ("the provider is overloaded ({})", "提供商过载（{0}）"),
    ("the provider cannot be reached ({})", "无法连接提供商（{0}）"),
    ("the provider took too long ({})", "提供商响应超时（{0}）"),
    ("the answer broke off before its end", "回答中途中断"),
    ("the model's answer was empty", "模型的回答为空"),
    ("the provider refused the request ({})", "提供商拒绝了请求（{0}）"),
    (
        "the provider's answer cannot be parsed: {}; is it the right kind of provider?",
        "无法解析提供商的响应：{0}；提供商类型是否正确？",
    ),
    ("the model's runner cannot be used: {}", "无法使用该模型的运行器：{0}"),
    // Settings and keys.
    (
        "the default tier has no model; name one for it, or choose another default tier",
        "默认级别没有模型；请为其指定模型，或选择其他默认级别",
    ),
    ("name a model for the tier vanguard, balance or swift", "请为 vanguard、balance 或 swift 级别指定模型"),
    ("use openai or anthropic", "请使用 openai 或 anthropic"),
    ("a window must have {} to {} tokens", "上下文窗口须为 {0} 至 {1} 个 token"),
    (
        "the token limits for answers and thinking must be between 1 and {}",
        "回答和思考的 token 上限须为 1 至 {0}",
    ),
    ("a price must be a number of dollars per million tokens", "价格须为数字（美元/百万 token）"),
    (
        "give a runner or an address, not both: a runner knows its endpoint's address",
        "请只给出运行器和地址中的一个：运行器知道其端点的地址",
    ),
    ("a model's name must have 1 to {} characters", "模型名称须为 1 至 {0} 个字符"),
    (
        "the server's own model can be changed only in the settings with which the server is started",
        "服务器自带的模型只能通过启动服务器时的设置更改",
    ),
    ("the address has changed, so give the key again", "地址已更改；请重新输入密钥"),
    ("the runner has the key; do not give one here", "密钥在运行器上；请勿在此输入"),
    (
        "the key is empty or contains characters that a key cannot have; paste it again",
        "密钥为空或包含无效字符；请重新粘贴",
    ),
    ("no list of its models within {} s", "{0} 秒内没有收到模型列表"),
    (
        "use NAME, TIER, NAME/TIER or NAME/MODEL, where NAME is one of your subscriptions or `server`, TIER is vanguard, balance or swift, and MODEL is the provider's name for a model",
        "请使用 名称、级别、名称/级别 或 名称/模型：名称是你的订阅或 `server`；级别是 vanguard、balance 或 swift；模型是提供商使用的模型名称",
    ),
    ("give the subscription a name", "请为订阅命名"),
    ("a subscription cannot be renamed; add another one instead", "订阅不能重命名；请另外添加一个"),
    (
        "{} is an address of the server's own network, where users' models are not allowed; ask the server's administrator",
        "{0} 是服务器所在网络的地址，用户的模型不能使用这种地址；请联系服务器管理员",
    ),
    (
        "{} is not a provider's address; it must begin with https:// or http://",
        "{0} 不是提供商的地址；必须以 https:// 或 http:// 开头",
    ),
    (
        "an address must not contain a user or a password; give the key separately",
        "地址不能包含用户名或密码；请单独输入密钥",
    ),
    ("{} has a query or a fragment; leave it out", "{0} 包含查询参数或片段；请去掉"),
    ("{} would send your key unencrypted; use https://", "{0} 会以明文发送密钥；请使用 https://"),
    ("it contains characters that no key has; paste it again", "包含无效字符；请重新粘贴"),
    ("the instructions are longer than 32 KiB; shorten them", "指令超过 32 KiB；请缩短"),
    (
        "that is not the name of a language; write a name on one line, such as German",
        "这不是一种语言；请在一行内写出语言名称，例如“德语”",
    ),
    ("this approval was already revoked, or its chat was deleted", "此批准已撤销，或其会话已删除"),
    (
        "there is no memory with this id; `sandbridge memory list` lists your memories",
        "没有这个编号的记忆；`sandbridge memory list` 会列出所有记忆",
    ),
    (
        "the text contains no words; write some words from the memories to forget",
        "文本中没有词语；请写出要忘记的记忆所含的词语",
    ),
    (
        "you have no agent {} in a group; `sandbridge group list` shows your groups",
        "你在群组中没有智能体 {0}；`sandbridge group list` 会列出你的群组",
    ),
    (
        "several of your agents are called {}; name one by its id: {}",
        "你有多个名为 {0} 的智能体；请用编号指明其中一个：{1}",
    ),
    ("the context mode {}", "上下文模式{0}"),
    ("must be full, no-compression or none", "必须是 full、no-compression 或 none"),
    ("approval {}", "审批模式{0}"),
    ("mode {}", "审批模式{0}"),
    ("must be plan, ask, auto-edit or full", "必须是 plan、ask、auto-edit 或 full"),
    (
        "{} is not an embedder; use none, built-in, SUBSCRIPTION/MODEL or ollama:SUBSCRIPTION/MODEL",
        "{0} 不是嵌入模型；请使用 none、built-in、订阅/模型 或 ollama:订阅/模型",
    ),
    (
        "the user who chose the embedder is no longer an administrator; choose an embedder again",
        "选择嵌入模型的用户已不是管理员；请重新选择嵌入模型",
    ),
    (
        "this provider has no embeddings; choose a subscription with another provider",
        "该提供商没有嵌入模型；请选择其他提供商的订阅",
    ),
    ("{}; until this is fixed, search uses words only", "{0}；问题解决前仅按关键词搜索"),
    (
        "the built-in embedder's file {} is not installed; put it there with scripts/build, or choose another embedder",
        "内置嵌入模型的文件 {0} 尚未安装；请运行 scripts/build 安装，或选择其他嵌入模型",
    ),
    (
        "the embedder does not answer: {}; check its subscription, or choose another embedder",
        "嵌入模型没有响应：{0}；请检查其订阅，或选择其他嵌入模型",
    ),
    (
        "the embedder returned {} vectors for {} texts; choose another model",
        "嵌入模型为 {1} 段文本返回了 {0} 个向量；请选择其他模型",
    ),
    (
        "the embedder returned an unusable vector ({}); choose another model",
        "嵌入模型返回了无法使用的向量（{0}）；请选择其他模型",
    ),
    ("the number of concurrent answers must be between 1 and {}", "并行回答数必须为 1 至 {0}"),
    (
        "{} cannot be the file of the base prompt; name a file in the server's home directory that ends in .md, such as prompt.md",
        "{0} 不能作为基础提示词文件；请指定服务器主目录中以 .md 结尾的文件，例如 prompt.md",
    ),
    (
        "there is no file {} in the server's home directory; put it there, or choose another one",
        "服务器主目录中没有文件 {0}；请将其放入，或选择其他文件",
    ),
    (
        "{} in the server's home directory is not a regular file; replace it with a text file that contains the base prompt",
        "服务器主目录中的 {0} 不是普通文件；请将其换成含有基础提示词的文本文件",
    ),
    (
        "{} in the server's home directory is longer than 32 KiB; shorten it",
        "服务器主目录中的 {0} 超过 32 KiB；请缩短",
    ),
    (
        "{} in the server's home directory is not UTF-8 text; save it as UTF-8",
        "服务器主目录中的 {0} 不是 UTF-8 文本；请保存为 UTF-8",
    ),
    (
        "{} in the server's home directory is empty; write the base prompt into it, or choose none",
        "服务器主目录中的 {0} 为空；请写入基础提示词，或不选择文件",
    ),
    (
        "{} in the server's home directory cannot be read: {}; check its owner and mode",
        "无法读取服务器主目录中的 {0}：{1*}；请检查其所有者和权限",
    ),
    ("there is no scope {}; use full, exec or read", "没有名为 {0} 的权限；请使用 full、exec 或 read"),
    (
        "this key is unknown, was removed or has expired; make another one with `sandbridge key add`",
        "此密钥不存在、已删除或已过期；请用 `sandbridge key add` 创建新的密钥",
    ),
    (
        "the key {} is for {} only; make one with another scope (`sandbridge key add`)",
        "密钥 {0} 只有 {1} 权限；请创建其他权限的密钥（`sandbridge key add`）",
    ),
    (
        "the key of this model cannot be decrypted: it was changed or moved in the database; enter the key again",
        "无法解密此模型的密钥：它在数据库中被更改或移动过；请重新输入密钥",
    ),
    ("the server's database is unavailable; try again in a moment", "服务器的数据库不可用；请稍后重试"),
    (
        "another node of this server is now responsible for this user; send the request again",
        "此用户现由本服务器的另一个节点负责；请重新发送请求",
    ),
    (
        "the server that works for you cannot be reached now; try again in a few seconds",
        "暂时无法连接负责你的服务器节点；请几秒后重试",
    ),
    (
        "the server that works for you did not answer; check whether the change was made before you repeat it",
        "负责你的服务器节点没有响应；请先确认更改是否已生效，再决定是否重试",
    ),
    ("the request's body did not arrive completely", "请求正文未完整送达"),
    (
        "the server is draining; send requests to another node, or try again in a moment",
        "服务器正在排空；请将请求发送到其他节点，或稍后重试",
    ),
    (
        "the server is still taking over unfinished work; try again in a moment",
        "服务器仍在接管未完成的工作；请稍后重试",
    ),
    ("the {} is not running", "该{0*}未在运行"),
    (
        "the {} is the only one that accepts users; start another node first",
        "只剩这一个{0*}在接收用户；请先启动另一个",
    ),
    (
        "the {} is still running; stop it first, or, if it crashed, wait 10 s",
        "该{0*}仍在运行；请先停止它，若已意外终止，请等待 10 秒",
    ),
    (
        "to change your own password, give your current one too: POST /api/v1/password",
        "更改自己的密码时，还需给出当前密码：POST /api/v1/password",
    ),
    ("that is not your password", "密码不正确"),
    ("that is not your current password", "当前密码不正确"),
    (
        "that is not the secret that `sandbridge serve` printed when it started; look again, or restart the server for a new one",
        "这不是 `sandbridge serve` 启动时显示的初始化密钥；请核对，或重启服务器以获取新的密钥",
    ),
    (
        "a sign-in address works only in a browser on the server's own machine; log in with your password",
        "登录地址只能在服务器本机的浏览器中使用；请用密码登录",
    ),
    ("{} is too short; use at least {} characters", "{0}过短；请至少使用 {1} 个字符"),
    ("{} is too long; use at most {} bytes", "{0}过长；请最多使用 {1} 字节"),
    ("{} is longer than {} characters; shorten it", "{0}超过 {1} 个字符；请缩短"),
    ("{} is longer than {} bytes; shorten it", "{0}超过 {1} 字节；请缩短"),
    ("the {} must be between 1 minute and 10 years", "{0*}必须为 1 分钟至 10 年"),
    ("the {} must be between 1 minute and 7 days", "{0*}必须为 1 分钟至 7 天"),
    ("the {} cannot exceed {}; remove a key that you no longer use", "{0*}最多为 {1}；请先移除不再使用的"),
    ("{} takes longer than {} s; search for other words", "{0}耗时超过 {1} 秒；请换用其他词"),
    (
        "{} has more than {} words; use only the most important ones",
        "{0}包含的词超过 {1} 个；请只用最重要的词",
    ),
    ("{} has a word of more than {} characters", "{0}中有超过 {1} 个字符的词"),
    (
        "{} exceeds the limit: you already have {}; remove one first",
        "{0}已达上限：你已有 {1} 个；请先移除一个",
    ),
    ("the password", "密码"),
    ("the title", "标题"),
    ("lifetime of a key", "密钥的有效期"),
    ("lifetime of an enrolment token", "注册令牌的有效期"),
    ("number of keys", "密钥数量"),
    ("the search", "搜索"),
    ("the subscription", "订阅"),
    (
        "another message was already sent with this send_id; choose another send_id",
        "此 send_id 已用于另一条消息；请换一个",
    ),
    (
        "an attachment must be a path that an upload to this chat returned, written as PATH or as PATH on PLACE",
        "附件必须是上传到此会话后返回的路径，或该路径及其位置：PATH on PLACE",
    ),
    ("there is no such file; reload the page", "没有这个文件；请重新加载页面"),
    ("the request's body did not arrive within {} s", "请求正文未在 {0} 秒内送达"),
    (
        "this server does not answer to the name {}; to allow it, start it with --allow-host {}",
        "本服务器不接受以主机名 {0} 访问；如需允许，请用 --allow-host {1} 启动",
    ),
    // Memories.
    ("memory", "记忆"),
    ("node", "节点"),
    ("proposal", "提议"),
    ("the memory", "记忆"),
    ("the {}'s name", "{0*}的名称"),
    ("{} needs a text", "{0}缺少文本"),
    (
        "{} cannot be stored: there are already {} memories; forget some first",
        "{0}已达上限（{1} 条）；请先忘记一些",
    ),
    (
        "{} cannot be stored: there are already {} proposals; accept or reject some first",
        "{0}无法保存：提议已达上限（{1} 条）；请先接受或拒绝一些",
    ),
    ("{} contains {}, an invisible character; leave it out", "{0}含有不可见字符 {1}；请去掉"),
    ("core block", "核心块"),
    ("the {} must be one of {}", "{0*}必须是以下之一：{1}"),
    (
        "the {} has {} characters, and at most {} are allowed; shorten it",
        "{0*}有 {1} 个字符，最多允许 {2} 个；请缩短",
    ),
    (
        "the memory {} is a proposal; only the user can accept or reject it",
        "记忆 {0} 是提议，只能由用户接受或拒绝",
    ),
    ("the memory {} is a core block: change its text instead", "记忆 {0} 是核心块：请直接修改其文本"),
    (
        "the memory {} was already replaced by memory {}; replace memory {} if it is no longer true",
        "记忆 {0} 已被记忆 {1} 取代；如果记忆 {1} 的内容已不正确，请替换记忆 {2}",
    ),
    ("{} can replace at most {} memories", "一条{0}最多取代 {1} 条记忆"),
    // What the store refuses, and why.
    ("exec", "命令"),
    ("gate", "人工确认"),
    ("the answer", "回答"),
    ("the approval", "批准"),
    ("the description", "说明"),
    ("the event", "事件"),
    ("the file", "文件"),
    ("the key", "密钥"),
    ("the message", "消息"),
    ("the name", "名称"),
    ("the path", "路径"),
    ("the request", "请求"),
    ("the secret", "密钥"),
    ("the setting", "设置"),
    ("the source", "来源"),
    ("the text", "文本"),
    (
        "{} exceeds the limit: you already have {}; revoke one first",
        "{0}已达上限：你已有 {1} 项；请先撤销一项",
    ),
    ("{} needs a hash of {} hexadecimal digits", "{0}需要 {1} 位十六进制哈希"),
    ("mode must be flat, letta or typed", "记忆方式必须是 flat、letta 或 typed"),
];
