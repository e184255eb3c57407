//! Plugins and marketplaces that cannot be used, and what a workspace defines.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // Manifests and marketplaces.
    ("{} {}; correct that file", "{0} {1*}；请改正该文件"),
    ("marketplace.json {}", "marketplace.json：{0*}"),
    ("has {} bytes; at most {} are read", "为 {0} 字节；最多读取 {1} 字节"),
    ("is not UTF-8 text", "不是 UTF-8 文本"),
    ("must be a JSON object", "必须是 JSON 对象"),
    ("is not valid JSON: {}", "不是有效的 JSON：{0}"),
    (
        "the plugin has no usable name; give it a `name` of letters, digits and `-` in .claude-plugin/plugin.json",
        "插件没有可用的名称；请在 .claude-plugin/plugin.json 中用 `name` 指定，可用英文字母、数字和 `-`",
    ),
    (
        "this is not a plugin: it has neither a manifest nor skills, commands, agents, hooks or MCP servers",
        "这不是插件：没有清单文件，也没有技能、命令、智能体、钩子或 MCP 服务器",
    ),
    ("is of a version that is not known here: {}", "版本未知：{0}"),
    ("must have `$schema`: {}", "必须有 `$schema`：{0}"),
    ("must have a string in `{}`, not {}", "`{0}` 必须是字符串，而不是{1*}"),
    (
        "must have a `name` of lower-case letters, digits, single hyphens and periods, not {}",
        "`name` 只能由小写字母、数字、单个连字符和句点组成，不能是 {0}",
    ),
    (
        "must have an `author` with only the strings `name`, `email` and `url`",
        "`author` 只能含有字符串 `name`、`email` 和 `url`",
    ),
    ("must have a list of strings in `keywords`", "`keywords` 必须是字符串列表"),
    (
        "marketplace.json must have a `name` of letters, digits and `-`",
        "marketplace.json 必须有 `name`，可用英文字母、数字和 `-`",
    ),
    ("marketplace.json must have `plugins`, a list", "marketplace.json 必须有列表 `plugins`"),
    ("marketplace.json has more than {} plugins", "marketplace.json 中的插件超过 {0} 个"),
    ("marketplace.json is not UTF-8", "marketplace.json 不是 UTF-8"),
    // Where plugins come from.
    (
        "the marketplace places {} {}, which Sandbridge cannot fetch",
        "Sandbridge 无法获取 {0}，因为插件市场给出的位置是：{1*}",
    ),
    ("in a directory next to its document", "其文档旁的目录"),
    (
        "in a git repository outside of GitHub, GitLab and Codeberg",
        "GitHub、GitLab 和 Codeberg 以外的 Git 仓库",
    ),
    ("in a registry other than npm's", "npm 以外的注册表"),
    ("in a Python package", "Python 包"),
    ("the marketplace gives an invalid location for {}", "插件市场给出的 {0} 的位置无效"),
    ("its plugin was removed in the meantime", "其插件在此期间已被移除"),
    ("the plugin {} was removed or replaced in the meantime", "插件 {0} 在此期间已被移除或替换"),
    ("{} has a name that is not UTF-8", "{0} 的名称不是 UTF-8"),
    // Paths and files of plugins.
    ("a file has no name", "有文件没有名称"),
    (
        "the path {} is absolute; paths start at the plugin's root",
        "路径 {0} 是绝对路径；路径应从插件的根目录开始",
    ),
    ("the path {} contains a NUL character", "路径 {0} 包含 NUL 字符"),
    ("the path {} contains a backslash; names are joined by `/`", "路径 {0} 包含反斜杠；请用 `/` 连接名称"),
    ("the path {} leads out of the plugin: `..` is not allowed", "路径 {0} 指向插件之外：不允许使用 `..`"),
    (
        "the path {} contains a character that cannot be seen or that changes the direction of writing",
        "路径 {0} 含有不可见或改变书写方向的字符",
    ),
    ("the path {} has a name with blanks at its beginning or end", "路径 {0} 中有首尾带空格的名称"),
    ("the path {} is too deep, or has too long a name", "路径 {0} 层级过深，或含有过长的名称"),
    ("the path {} is too long", "路径 {0} 过长"),
    // Slash commands of plugins.
    ("its text is empty", "其文本为空"),
    (
        "the arguments have more than {} bytes; put them into a file and name it",
        "参数超过 {0} 字节；请放到文件中，再写出文件名",
    ),
    ("the prompt has more than {} bytes with these arguments", "使用这些参数时，提示词超过 {0} 字节"),
    ("the command has more than {} lines of shell and files", "命令中的 Shell 行和文件超过 {0} 个"),
    (
        "`{}` cannot be put safely into the command line `{}`; use an argument with only letters, digits and `-_./:@`",
        "`{0}` 不能安全地放入命令行 `{1}`；参数请只用英文字母、数字和 `-_./:@`",
    ),
    // What a workspace defines.
    ("they name more than {} paths; put them into a script", "其中的路径超过 {0} 个；请写成脚本"),
    ("files in the directory {}", "目录 {0} 中的文件"),
    ("files in more than {} directories", "超过 {0} 个目录中的文件"),
    ("its parameters cannot be used: {}", "其参数无法使用：{0*}"),
    ("it did not describe itself within {} s", "未在 {0} 秒内给出自身的说明"),
    ("its schema is deeper than {} levels", "其 JSON Schema 嵌套超过 {0} 层"),
    ("its schema contains invisible characters", "其 JSON Schema 含有不可见字符"),
    (
        "its schema refers to another document, which is not loaded",
        "其 JSON Schema 引用了另一个文档，而该文档不会被加载",
    ),
    ("{}; its standard error ends with:", "{0*}；标准错误的结尾："),
    ("its standard error ends with:", "标准错误的结尾："),
];
