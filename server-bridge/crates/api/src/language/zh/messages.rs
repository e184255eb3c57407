//! Messages and attachments.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    ("the message {}", "消息{0}"),
    ("is empty; write something, or /help to see what works", "为空；请输入内容，或输入 /help 查看可用命令"),
    (
        "is for a sub-agent, and only the agent that called it can write to it; send it in that agent's chat",
        "属于子智能体的会话，只有调用它的智能体能与它对话；请在那个智能体的会话中发送",
    ),
    ("the title is empty; give one", "标题为空；请输入标题"),
    (
        "{} messages are already waiting for an answer in this chat; send this one again when one is answered",
        "此会话已有 {0} 条消息在等待回答；请在其中一条得到回答后重新发送",
    ),
    (
        "{} messages are already waiting for an answer in this chat. This one is not answered: send it again later.",
        "此会话已有 {0} 条消息在等待回答。这一条不会得到回答：请在其中一条得到回答后重新发送。",
    ),
    ("a message has at most {} attachments", "一条消息最多 {0} 个附件"),
    ("an attachment has at most {} MiB; upload it as a file instead", "附件最大 {0} MiB；请改为上传文件"),
    (
        "a command takes no attachments; send them with a message of their own, and the command separately",
        "命令不能带附件；请将附件单独作为一条消息发送",
    ),
    ("the upload broke off ({}); attach the file again", "上传中断（{0}）；请重新添加附件"),
    ("this message shows no card that can be answered", "这条消息中没有可以回答的卡片"),
    (
        "this card was answered already ({}, from {}); the first answer counts",
        "这张卡片已回答过（{0}，来自 {1}），以第一次回答为准",
    ),
    ("“{}” has to be filled in", "“{0}”必须填写"),
    ("“{}” takes at most {} bytes", "“{0}”最多 {1} 字节"),
    ("“{}” does not offer this option", "“{0}”没有这个选项"),
    ("this card asks nothing", "这张卡片不需要回答"),
    ("this card was answered already; the first answer counts", "这张卡片已回答过，以第一次回答为准"),
    ("this card has no such button", "这张卡片没有这个按钮"),
    ("this card has no such field", "这张卡片没有这个输入项"),
    ("this question no longer waits for an answer", "这个问题已不再等待回答"),
    (
        "this was answered already ({}, from {}); the first answer counts",
        "已有回答（{0*}，来自{1*}）；以首次回答为准",
    ),
    ("an answer has at most {} bytes; shorten it", "回答最多 {0} 字节；请缩短"),
];
