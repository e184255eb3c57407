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
    ("the rule", "规则"),
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
        "Waiting for your approval in this workspace; write /trust to look at it and approve it:",
        "此工作区中有内容等待你批准；发送 /trust 即可查看并批准：",
    ),
    // Hooks of automations, and trying hooks.
    ("a hook stopped it: {}", "钩子停止了它：{0*}"),
    ("the payload does not fit {}: {}", "事件内容与 {0} 不符：{1*}"),
    ("the payload is not a JSON object", "事件内容不是 JSON 对象"),
    ("the payload is not JSON: {}", "事件内容不是 JSON：{0*}"),
    ("the payload is longer than 256 KiB", "事件内容超过 256 KiB"),
    ("name a hook, or an event whose hooks are to be tried", "请指明要试运行的钩子或事件"),
    (
        "there is no hook {} there; `sandbridge hook list` shows them",
        "那里没有钩子 {0}；可用 `sandbridge hook list` 查看",
    ),
    ("the hook {} does not run: {}", "钩子 {0} 不会运行：{1*}"),
    (
        "it waits for your approval; look at it, and approve it with `sandbridge hook approve`",
        "它在等待你批准；请先查看，再用 `sandbridge hook approve` 批准",
    ),
    ("{}: its matcher or its condition does not fit this payload", "{0}：它的匹配器或条件与此事件内容不符"),
    (
        "it needs a chat with an answer, for its model and its rules; try it in such a chat",
        "它需要一个已有回答的会话来提供模型和规则；请在这样的会话中试运行",
    ),
    (
        "it needs a turn, and the end of a session has none; use `command` or `http`",
        "它要在一轮对话中运行，而会话结束事件不属于任何一轮；请使用 `command` 或 `http`",
    ),
    // Marketplaces, and plugins that users share.
    ("the plugin", "插件"),
    ("the marketplace", "插件市场"),
    ("the marketplace cannot be read: {}", "无法读取该插件市场：{0*}"),
    (
        "you have no marketplace {}; see `sandbridge plugin marketplace list`",
        "你没有插件市场 {0}；可用 `sandbridge plugin marketplace list` 查看",
    ),
    (
        "you have no marketplace {}; `sandbridge plugin marketplace add SOURCE` adds one",
        "你没有插件市场 {0}；可用 `sandbridge plugin marketplace add SOURCE` 添加",
    ),
    (
        "you have a marketplace {} from {}; remove it first: `sandbridge plugin marketplace remove {}`",
        "你已有来自 {1} 的插件市场 {0}；请先移除它：`sandbridge plugin marketplace remove {2}`",
    ),
    ("{} shares no plugin {}", "{0} 没有共享插件 {1}"),
    ("only its owner and administrators take a plugin off the shelf", "只有插件的所有者和管理员可以将其下架"),
    ("Nothing in this workspace waits for your approval.", "此工作区中没有等待你批准的内容。"),
    ("This waits for your approval in {}:", "{0} 中有以下内容等待你批准："),
    ("More that waits, and is asked about next: {}", "还有等待批准的内容，将在之后询问：{0}"),
    ("Approved already: {}", "已批准：{0}"),
    (
        "Cannot be approved; see `sandbridge trust list`: {}",
        "无法批准，请用 `sandbridge trust list` 查看：{0}",
    ),
    ("  files: {}", "  文件：{0}"),
    ("  changed since you approved it", "  自你批准后已改变"),
    ("  files that differ: {}", "  有差异的文件：{0}"),
    ("  runs files this approval cannot see: {}", "  会运行此批准未涵盖的文件：{0}"),
    ("Approve all of it", "全部批准"),
    ("Not now", "暂不"),
    ("Nothing was approved.", "未批准任何内容。"),
    ("Approved: {}. It has an effect from the next message on.", "已批准 {0} 项，从下一条消息起生效。"),
    (
        "Approved: {}. Changed since you looked at it, and not approved: {}. Write /trust again.",
        "已批准 {0} 项。另有 {1} 项在你查看之后已改变，未批准；请再次发送 /trust。",
    ),
    ("This server has no extensions to approve.", "此服务器没有需要批准的扩展。"),
    (
        "show what the workspace defines and you have not approved, and approve it",
        "查看工作区定义的、你尚未批准的内容，并予以批准",
    ),
    ("hooks: {}", "钩子：{0}"),
    ("MCP servers: {}", "MCP 服务器：{0}"),
    ("custom tools: {}", "自定义工具：{0}"),
    ("skills: {}", "技能：{0}"),
    ("HTTP tools: {}", "HTTP 工具：{0}"),
    ("what the workspace defines is not known: {}", "无法得知工作区定义了什么：{0*}"),
    ("the workspace cannot be read: {}", "无法读取工作区：{0*}"),
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
    ("its server answered with status {}", "服务器返回状态码 {0}"),
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
