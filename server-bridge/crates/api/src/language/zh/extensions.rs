//! Permission rules and hooks.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    (
        "adds the MCP server {} to your own, for all of your chats",
        "将 MCP 服务器 {0} 添加为你自己的服务器，用于你的所有会话",
    ),
    (
        "adds the HTTP tool {} to your own, for all of your chats",
        "将 HTTP 工具 {0} 添加为你自己的工具，用于你的所有会话",
    ),
    ("removes your MCP server {}", "移除你的 MCP 服务器 {0}"),
    ("removes your HTTP tool {}", "移除你的 HTTP 工具 {0}"),
    ("shows your model lines of the server's log", "让你的模型查看服务器日志中的若干行"),
    ("definition", "定义"),
    ("lines", "行数"),
    ("contains", "包含"),
    ("none of its rules has an effect: {}", "其中的规则均不起作用：{0}"),
    ("none of the servers of the workspace is used: {}", "工作区的服务器均未使用：{0}"),
    // What rules say of a call.
    ("`{}` is denied by {}: {}", "`{0}` 被{1}拒绝：{2*}"),
    ("`{}` is denied by {}", "`{0}` 被{1}拒绝"),
    ("The user is asked about `{}` because of {}: {}", "根据{1}，`{0}` 须先询问用户：{2*}"),
    ("The user is asked about `{}` because of {}", "根据{1}，`{0}` 须先询问用户"),
    (
        "The user is asked about `{}`, a part of which is known only when it runs: it may match {}",
        "`{0}` 的一部分在运行时才能确定，可能匹配{1}，因此询问用户",
    ),
    ("The user is asked because the line is not understood: {}", "无法解析这行命令，因此询问用户：{0*}"),
    ("It is allowed by {}", "由{0}允许"),
    ("No rule decides: no allow rule covers `{}`", "没有规则作出决定：没有“允许”规则涵盖 `{0}`"),
    ("No rule matches", "没有匹配的规则"),
    ("There are no rules", "没有规则"),
    ("the administrator's rule {}", "管理员的规则 {0}"),
    ("the user's rule {}", "用户的规则 {0}"),
    ("the built-in rule {}", "内置规则 {0}"),
    ("it deletes folders with everything in them", "会删除目录及其中的所有内容"),
    ("it erases a disk", "会清除磁盘"),
    ("it writes to disks and files byte by byte, over what is there", "会逐字节写入磁盘和文件，覆盖原有内容"),
    ("it stops the machine", "会关闭机器"),
    ("it lets everyone change files", "会让所有人都能修改文件"),
    // Managing rules.
    ("the rule {} is refused: {}", "规则 {0} 无效：{1*}"),
    (
        "there is no rule {} of yours; see `sandbridge rule list`",
        "你没有编号为 {0} 的规则；请用 `sandbridge rule list` 查看",
    ),
    ("name a tool, such as Shell", "请填写工具名，例如 Shell"),
    ("a call to try has at most {} KiB", "要尝试的调用最多 {0} KiB"),
    // What hooks say in chats.
    ("⚠️ A hook failed ({}): {}", "⚠️ 钩子失败（{0}）：{1*}"),
    ("Hook ({}): {}", "钩子（{0}）：{1}"),
    ("A hook lets the model go on: {}", "钩子让模型继续：{0}"),
    (
        "⚠️ A hook wants the model to go on, but it did so {} times already: {}",
        "⚠️ 钩子要求模型继续，但已经继续了 {0} 次：{1}",
    ),
    // What waits for approval.
    (
        "Waiting for your approval in this workspace; see `sandbridge trust list`, or Trust in the settings:",
        "此工作区中有内容等待你批准；请用 `sandbridge trust list` 或在设置的“信任”中查看：",
    ),
    ("hooks: {}", "钩子：{0}"),
    ("MCP servers: {}", "MCP 服务器：{0}"),
    ("custom tools: {}", "自定义工具：{0}"),
    ("skills: {}", "技能：{0}"),
    ("HTTP tools: {}", "HTTP 工具：{0}"),
    ("what the workspace defines is not known: {}", "无法得知工作区定义了什么：{0*}"),
    ("the workspace cannot be read: {}", "无法查看工作区：{0*}"),
    (
        "nothing with this hash waits for approval; it may have changed since you looked at it: see `sandbridge trust list`",
        "没有与此哈希对应的内容等待批准；它可能在你查看之后已改变：请用 `sandbridge trust list` 查看",
    ),
    (
        "you approved nothing with this hash; see `sandbridge trust list`",
        "你没有批准过与此哈希对应的内容；请用 `sandbridge trust list` 查看",
    ),
    // Plugins.
    ("the plugin cannot be installed: {}", "无法安装插件：{0*}"),
    (
        "the plugin {} is not the one that you looked at: look at it again",
        "插件 {0} 与你查看的内容不同：请重新查看",
    ),
    (
        "you have no plugin {}; see `sandbridge plugin list`",
        "你没有名为 {0} 的插件；请用 `sandbridge plugin list` 查看",
    ),
    ("what the marketplace adds is not used: {}", "未使用市场条目中的附加内容：{0}"),
    ("its content is not base64", "其内容不是 base64"),
    ("give a source, an archive or its files", "请提供来源、归档或文件"),
    ("the marketplace has no plugin {}; it has {}", "该市场没有插件 {0}；它有 {1}"),
    ("the plugin's files cannot be written: {}", "无法写入插件的文件：{0*}"),
    ("/{} was not sent: {}", "未发送 /{0}：{1*}"),
    // Custom tools.
    ("{}: the tool is not offered: {}", "{0}：不提供此工具：{1*}"),
    ("{}: another file is already the tool {}", "{0}：工具 {1} 已由另一个文件提供"),
    (
        "{}: it is not a tool: make it executable with `chmod +x {}`",
        "{0}：还不是工具：请用 `chmod +x {1}` 添加可执行权限",
    ),
    ("it exited with {}: {}", "退出码为 {0}：{1}"),
    ("it exited with {}", "退出码为 {0}"),
    ("it was ended by signal {}", "被信号 {0} 终止"),
    ("it did not end within {} s", "未在 {0} 秒内结束"),
    ("its answer is not a JSON object", "返回的不是 JSON 对象"),
    ("its server answered with status {}", "服务器返回状态 {0}"),
    ("no machine can be reached: {}", "无法连接任何机器：{0*}"),
    // Managing hooks.
    ("the document is refused: {}", "文档无效：{0*}"),
    (
        "no hook with this hash waits for approval there; see `sandbridge hook list`",
        "该位置没有与此哈希对应的待批准钩子；请用 `sandbridge hook list` 查看",
    ),
    (
        "you approved no hook with this hash; see `sandbridge hook list`",
        "你没有批准过与此哈希对应的钩子；请用 `sandbridge hook list` 查看",
    ),
    ("the hooks of the workspace are not listed: {}", "未列出工作区的钩子：{0*}"),
];
