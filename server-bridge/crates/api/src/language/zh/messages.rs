//! Messages and attachments.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    ("the message {}", "消息{0}"),
    ("is empty; write something, or /help to see what works", "为空；请输入内容，或输入 /help 查看可用命令"),
    (
        "is for a sub-agent; to write to a sub-agent that has a name, use the chat whose agent called it: /agent NAME TEXT",
        "是发给子智能体的；子智能体如有名称，请在调用它的会话中用 /agent 名称 内容 与它对话",
    ),
    ("list this chat's sub-agents that you can write to", "列出此会话中可以对话的子智能体"),
    ("write to a sub-agent; its answer appears here", "给子智能体发消息；回答会显示在此会话中"),
    (
        "No sub-agent of this chat has that name; /agent lists the sub-agents that you can write to.",
        "此会话没有叫这个名称的子智能体；/agent 会列出可以对话的子智能体。",
    ),
    (
        "Write the message after the sub-agent's name: /agent NAME TEXT.",
        "请在子智能体的名称后写上内容：/agent 名称 内容。",
    ),
    (
        "This sub-agent was closed: nobody called it for 30 minutes. Ask this chat's agent to call a new one.",
        "这个子智能体已关闭：30 分钟内未被调用。请让此会话的智能体调用新的子智能体。",
    ),
    (
        "This chat has no sub-agent that you can write to. You can write to a sub-agent that has a name, for 30 minutes after its last call.",
        "此会话没有可以对话的子智能体：只有带名称的子智能体，在最近一次调用后 30 分钟内可以对话。",
    ),
    ("Sub-agents that you can write to with /agent NAME TEXT:", "可以用 /agent 名称 内容 对话的子智能体："),
    ("machine", "机器"),
    ("makes a git worktree and a branch", "创建一个 Git 工作树和一个分支"),
    ("makes a git worktree and a branch for a sub-agent", "为子智能体创建一个 Git 工作树和一个分支"),
    (
        "removes a git worktree and its branch, if nothing would be lost",
        "删除一个 Git 工作树及其分支（前提是不会丢失任何内容）",
    ),
    ("making and removing worktrees on {}, in this chat", "此会话中，在 {0} 上创建和删除工作树"),
    ("worktrees for sub-agents on {}, in this chat", "此会话中，在 {0} 上为子智能体创建工作树"),
    ("the title is empty; enter one", "标题为空；请输入标题"),
    (
        "{} messages are already waiting for an answer in this chat; send this one again when one is answered",
        "此会话已有 {0} 条消息在等待回答；请在其中一条得到回答后重新发送",
    ),
    (
        "{} messages are already waiting for an answer in this chat. This one will not be answered; send it again later.",
        "此会话已有 {0} 条消息在等待回答。这一条不会得到回答：请在其中一条得到回答后重新发送。",
    ),
    ("a message can have at most {} attachments", "一条消息最多 {0} 个附件"),
    (
        "an attachment can have at most {} MiB; upload it as a file instead",
        "附件最大 {0} MiB；请改为上传文件",
    ),
    (
        "a command takes no attachments; send them in a separate message",
        "命令不能带附件；请将附件单独作为一条消息发送",
    ),
    ("the upload broke off ({}); attach the file again", "上传中断（{0}）；请重新添加附件"),
    ("this message shows no card that can be answered", "这条消息中没有可以回答的卡片"),
    (
        "this card was answered already ({}, from {}); the first answer counts",
        "这张卡片已回答过（{0}，来源：{1*}）；以首次回答为准",
    ),
    ("“{}” has to be filled in", "“{0}”必须填写"),
    ("“{}” can have at most {} bytes", "“{0}”最多 {1} 字节"),
    ("“{}” does not offer this option", "“{0}”没有这个选项"),
    ("this card does not ask a question", "这张卡片不需要回答"),
    ("this card was answered already; the first answer counts", "这张卡片已回答过；以首次回答为准"),
    ("this card has no such button", "这张卡片没有这个按钮"),
    ("this card has no such field", "这张卡片没有这个输入项"),
    ("this question is no longer waiting for an answer", "这个问题已不再等待回答"),
    (
        "this was answered already ({}, from {}); the first answer counts",
        "已有回答（{0*}，来源：{1*}）；以首次回答为准",
    ),
    ("no action waits for an answer of this terminal", "没有操作在等待这个终端的回答"),
    ("this was taken already", "该操作已被接受"),
    ("this was not taken yet; take it first", "该操作尚未被接受；请先接受"),
    ("`state` must be taken, done or refused", "`state` 必须是 taken、done 或 refused"),
    ("a terminal's answer can have at most {} characters", "终端的回答最多 {0} 个字符"),
    ("an answer can have at most {} bytes; shorten it", "回答最多 {0} 字节；请缩短"),
    ("page", "网页"),
    ("cli", "命令行"),
    ("it no longer waits for an answer", "已不再等待回答"),
];
