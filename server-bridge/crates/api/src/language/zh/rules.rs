//! Permission rules: their errors, remarks and documents, and the reasons of decisions.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // Errors of a rule.
    (
        "a quote is not closed; write `{}` or `{}` for the character itself",
        "引号没有闭合；如需引号字符本身，请写 `{0}` 或 `{1}`",
    ),
    ("the path is not a pattern: {}", "路径不是有效的匹配模式：{0*}"),
    (
        "a `[` has no `]`; write `{}` for the character itself",
        "`[` 没有对应的 `]`；如需该字符本身，请写 `{0}`",
    ),
    (
        "there is a `{}` at the end; write `{}` for the character itself",
        "末尾有 `{0}`；如需该字符本身，请写 `{1}`",
    ),
    ("its example `{}` {}", "其示例 `{0}` {1*}"),
    ("does not match; correct the rule or the example", "应匹配却未匹配；请改正规则或示例"),
    ("matches, but must not; correct the rule or the example", "不应匹配却匹配了；请改正规则或示例"),
    ("it has more than {} examples of a kind; remove some", "同类示例超过 {0} 个；请删减"),
    (
        "`{}` never matches: the home directory of a machine's user is not known here; write the whole path",
        "`{0}` 永远不会匹配：服务器不知道机器用户的主目录；请写完整路径",
    ),
    ("{} is not an effect; use deny, ask or allow", "没有名为 {0} 的效果；请使用 deny、ask 或 allow"),
    ("a rule's id must be a number", "规则的编号必须是数字"),
    // Remarks on a rule that is kept.
    ("it has no effect: {}", "不起作用：{0*}"),
    (
        "no tool is named {}; the rule takes effect when one is added",
        "没有这个工具：{0}；添加该工具后，规则才会生效",
    ),
    ("{} (did you mean {}?)", "{0}（你是不是想写 {1}？）"),
    (
        "a workspace can deny and ask, but never allow, so the rule has no effect; add it to your own rules",
        "工作区的规则只能拒绝或询问，不能允许，因此该规则不起作用；请将它添加到你自己的规则中",
    ),
    (
        "`{}` runs other commands, which need a separate allow rule; name the command as well, as in `Bash({} make *)`",
        "`{0}` 会运行其他命令，而那些命令需要单独的“允许”规则；请同时写明命令，例如 `Bash({1} make *)`",
    ),
    (
        "`{}` can run other commands, by its options or by what it reads, and the rule allows that as well",
        "`{0}` 可以通过选项或读取的内容运行其他命令，该规则也会允许这样做",
    ),
    (
        "`{}` matches only a command that is written exactly like this: `?` and `[` are not wildcards in it, and a rule for its name alone matches it in every folder",
        "`{0}` 只匹配写法完全相同的命令：其中的 `?` 和 `[` 不是通配符；只写命令名的规则可匹配任何目录中的该命令",
    ),
    (
        "the rule allows every call, except for command lines that cannot be parsed",
        "该规则允许所有调用，无法解析的命令行除外",
    ),
    // Documents of rules.
    ("this key is not known; write `deny`, `ask` or `allow`", "未知的键；请写 `deny`、`ask` 或 `allow`"),
    (
        "this key occurs twice, and only the last one would have an effect; join them",
        "此键出现了两次，只有最后一个会起作用；请合并",
    ),
    (
        "the document is not valid JSON: {}; correct it at this place",
        "文档不是有效的 JSON：{0*}；请在该处改正",
    ),
    ("the document has more than {} rules; remove some", "文档中的规则超过 {0} 条；请删减"),
    (
        "an entry must be a rule's text, or an object with `rule`",
        "每一项必须是规则文本，或含有 `rule` 的对象",
    ),
    ("`rule` must be the rule's text", "`rule` 必须是规则文本"),
    (
        "`examples` must be an object with `matches` and `not_matches`",
        "`examples` 必须是含有 `matches` 和 `not_matches` 的对象",
    ),
    (
        "`examples` can contain only `matches` and `not_matches`",
        "`examples` 只能含有 `matches` 和 `not_matches`",
    ),
    ("each example must be a string", "每个示例都必须是字符串"),
    ("`matches` and `not_matches` must be lists of strings", "`matches` 和 `not_matches` 必须是字符串列表"),
    // Reasons of decisions, as whole sentences.
    ("`{}` is denied by {}.", "根据{1}，`{0}` 被拒绝。"),
    ("`{}` is denied by {}: {}.", "根据{1}，`{0}` 被拒绝：{2*}。"),
    ("The user is asked about `{}` because of {}.", "根据{1}，`{0}` 须先询问用户。"),
    ("The user is asked about `{}` because of {}: {}.", "根据{1}，`{0}` 须先询问用户：{2*}。"),
    ("The user is asked about `{}`, which may match {}.", "`{0}` 可能匹配{1}，因此须先询问用户。"),
    (
        "The user is asked about `{}`, a part of which is known only when it runs: it may match {}.",
        "`{0}` 的一部分在运行时才能确定，因此须先询问用户：它可能匹配{1}。",
    ),
    (
        "The user is asked because the line cannot be parsed: {}.",
        "无法解析这行命令，因此须先询问用户：{0*}。",
    ),
    ("The line cannot be parsed: {}.", "无法解析这行命令：{0*}。"),
    ("It is allowed by {}.", "根据{0}，允许此调用。"),
    ("`{}` is allowed by {}.", "根据{1}，允许 `{0}`。"),
    ("`{}` needs no separate rule.", "`{0}` 不需要单独的规则。"),
    (
        "`{}` matches an allow rule, which does not cover the commands within it.",
        "`{0}` 匹配一条“允许”规则，但该规则不涵盖其中的命令。",
    ),
    ("No rule decides: no allow rule covers `{}`.", "没有规则作出决定：没有“允许”规则涵盖 `{0}`。"),
    ("No rule matches.", "没有匹配的规则。"),
    ("No rule matches `{}`.", "没有规则匹配 `{0}`。"),
    ("There are no rules.", "没有规则。"),
    ("the chat's rule {}", "会话的规则 {0}"),
    ("the workspace's rule {}", "工作区的规则 {0}"),
    ("the administrator's rule {}` and {}", "管理员的规则 {0}`、{1*}"),
    ("the user's rule {}` and {}", "用户的规则 {0}`、{1*}"),
    ("the chat's rule {}` and {}", "会话的规则 {0}`、{1*}"),
    ("the built-in rule {}` and {}", "内置规则 {0}`、{1*}"),
];
