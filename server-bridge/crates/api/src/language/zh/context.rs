//! The use of a model's context window.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    ("{} {} %: about {} of {} tokens", "{0} {1}%：约 {2} / {3} 个 token"),
    ("{}  the system prompt", "{0}  系统提示词"),
    ("{}    of which {}", "{0}    其中：{1}"),
    ("the server's AGENTS.md", "服务器的 AGENTS.md"),
    ("your own instructions", "你自己的指令"),
    ("kept memories", "记住的内容"),
    ("its description in the group", "智能体在群组中的人设"),
    ("the skill {}", "技能 {0}"),
    ("{}  the descriptions of the tools", "{0}  工具说明"),
    ("{}  a summary of earlier messages", "{0}  先前消息的摘要"),
    ("{}  messages and calls", "{0}  消息和调用"),
    ("{}  tool results", "{0}  工具结果"),
    ("{}  lines that replace old results", "{0}  代替旧结果的占位行"),
    ("{}  excerpts of results that were put aside", "{0}  已转存结果的摘录"),
    (
        "At {} % the conversation is compressed automatically; /compress does it now.",
        "达到 {0}% 时会自动压缩对话；/compress 可立即压缩。",
    ),
    ("This server's context mode is {}: {}.", "本服务器的上下文模式为 {0}：{1}。"),
    (
        "long results are put aside, old ones shrink to one line, and a conversation that fills the model's window is compressed automatically",
        "较长的结果会转存，较旧的结果缩为一行，对话占满模型的上下文窗口时会自动压缩",
    ),
    (
        "long results are put aside and old ones shrink to one line; nothing is compressed unless you say /compress",
        "较长的结果会转存，较旧的结果缩为一行；除非使用 /compress，否则不会压缩",
    ),
    (
        "the model is shown everything in full; nothing is compressed unless you say /compress",
        "模型会看到全部内容；除非使用 /compress，否则不会压缩",
    ),
];
