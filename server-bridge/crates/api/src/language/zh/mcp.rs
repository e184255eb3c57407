//! MCP servers.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What a tool of a server asks to do, on the card of its approval.
    ("calls the tool {} of the MCP server {}", "调用 MCP 服务器 {1} 的工具 {0}"),
    (
        "every call of the tool {} of the MCP server {}, in this chat",
        "此会话中对 MCP 服务器 {1} 的工具 {0} 的所有调用",
    ),
    ("reads a resource of the MCP server {}", "读取 MCP 服务器 {0} 的一个资源"),
    ("reads the skill {} of the MCP server {}", "读取 MCP 服务器 {1} 的技能 {0}"),
    ("lists the resources of the MCP server {}", "列出 MCP 服务器 {0} 的资源"),
    ("reading every resource of the MCP server {}, in this chat", "此会话中读取 MCP 服务器 {0} 的所有资源"),
    ("arguments", "参数"),
    ("resource", "资源"),
    // Managing servers.
    ("the MCP server", "MCP 服务器"),
    ("the server was not saved: {}", "未能保存 MCP 服务器：{0*}"),
    (
        "models could not tell {} from your server {}; choose another name",
        "模型无法区分 {0} 与你的服务器 {1}；请换一个名称",
    ),
    (
        "you have no MCP server {} of your own; see `sandbridge mcp-server list`",
        "你自己的 MCP 服务器中没有 {0}；请用 `sandbridge mcp-server list` 查看",
    ),
    ("there is no MCP server {} here; {}", "此处没有 MCP 服务器 {0}；{1*}"),
    ("no servers are defined", "尚无任何服务器"),
    ("the servers are {}", "现有：{0}"),
    (
        "the MCP server {} waits for your approval: look at it with `sandbridge mcp-server approve {}`, or under MCP servers in the settings",
        "MCP 服务器 {0} 正在等待你批准；请用 `sandbridge mcp-server approve {1}` 或在设置的“MCP 服务器”中查看",
    ),
    (
        "no MCP server with this hash waits for approval; it may have changed since you looked at it: see `sandbridge mcp-server list`",
        "没有与此哈希对应的 MCP 服务器等待批准；它可能在你查看之后已改变：请用 `sandbridge mcp-server list` 查看",
    ),
    (
        "you approved no MCP server with this hash; see `sandbridge mcp-server list`",
        "你没有批准过与此哈希对应的 MCP 服务器；请用 `sandbridge mcp-server list` 查看",
    ),
    (
        "the tools of the MCP server {} changed again, or none waits for you: look again with `sandbridge mcp-server accept {}`",
        "MCP 服务器 {0} 的工具再次发生了改动，或没有待你接受的改动；请用 `sandbridge mcp-server accept {1}` 重新查看",
    ),
    ("the server listed its tools at the same time; try again", "服务器同时更新了工具列表；请重试"),
    ("the MCP server {} cannot run: {}", "MCP 服务器 {0} 无法运行：{1*}"),
    ("the MCP server {} cannot be used: {}", "MCP 服务器 {0} 无法使用：{1*}"),
    // Definitions.
    (
        "{} is not a valid server name: use up to {} letters, digits, '-', '_' or '.', with at least one letter or digit",
        "{0} 不是有效的服务器名称：最多 {1} 个字符，可用英文字母、数字、“-”、“_”和“.”，至少含一个英文字母或数字",
    ),
    (
        "the transport \"sse\" was replaced in 2025; use the server's streamable HTTP address",
        "传输方式“sse”已在 2025 年被取代；请使用服务器的 Streamable HTTP 地址",
    ),
    ("the type {} is unknown; write \"stdio\" or \"http\"", "未知的类型 {0}；请填写“stdio”或“http”"),
    ("it has both a command and a url; write one of them", "同时包含 command 和 url；请只填写其中之一"),
    ("it has neither a command nor a url", "既没有 command，也没有 url"),
    ("an entry with a command must have the type \"stdio\"", "包含 command 的条目，其类型必须为“stdio”"),
    ("an entry with a url must have the type \"http\"", "包含 url 的条目，其类型必须为“http”"),
    (
        "the timeout must be more than 0 ms; leave it out for the default",
        "超时时间必须大于 0 毫秒；要使用默认值，请不要填写",
    ),
    ("its command is empty", "命令为空"),
    ("it has more than {} arguments or variables", "参数或变量超过 {0} 个"),
    ("an argument or a variable has {} bytes; the maximum is {}", "某个参数或变量为 {0} 字节；最多 {1} 字节"),
    ("an argument or a variable contains a NUL character", "某个参数或变量包含 NUL 字符"),
    ("{} is not the name of a variable", "{0} 不是有效的变量名"),
    (
        "variables (${…}) are not replaced in an address or a header, since the request comes from the server and not from your machine: \
         write the value itself",
        "地址和请求头中的变量不会被替换，因为请求由服务器而非你的机器发出；请直接填写值",
    ),
    ("it has more than {} headers", "请求头超过 {0} 个"),
    ("its \"oauth\" has no \"clientId\"", "“oauth”中没有“clientId”"),
    (
        "its \"oauth\" needs either a \"clientSecret\" or a \"privateKey\"",
        "“oauth”需要“clientSecret”或“privateKey”，且只能填写其中之一",
    ),
    (
        "its \"oauth\" has a text of more than {} bytes, or more than {} scopes",
        "“oauth”中有超过 {0} 字节的文本，或超过 {1} 个权限范围（scope）",
    ),
    (
        "variables (${…}) are not replaced in \"oauth\", since the requests come from the server and not from your machine: write the value \
         itself",
        "“oauth”中的变量不会被替换，因为请求由服务器而非你的机器发出；请直接填写值",
    ),
    (
        "its \"privateKey\" is not a private key in PEM (RSA, P-256, P-384 or Ed25519, without a passphrase)",
        "“privateKey”不是有效的 PEM 私钥（RSA、P-256、P-384 或 Ed25519，不带密码）",
    ),
    (
        "its \"signingAlgorithm\" does not fit its \"privateKey\"; the known ones are {}",
        "“signingAlgorithm”与“privateKey”不匹配；支持的算法：{0}",
    ),
    (
        "it has both an Authorization header and client credentials; write one of them",
        "同时包含请求头 Authorization 和客户端凭据；请只填写其中之一",
    ),
    (
        "the MCP server {} has credentials of its own, and needs no login",
        "MCP 服务器 {0} 使用自己的客户端凭据，无需登录",
    ),
    // Prompts.
    ("the MCP server {}: {}", "MCP 服务器 {0}：{1*}"),
    ("its argument {} is missing; {}", "缺少参数 {0}；{1*}"),
    ("this prompt has no arguments; {}", "此提示词没有参数；{0*}"),
    ("write it as {}", "写法：{0}"),
    ("its prompt is empty", "它的提示词为空"),
    ("its prompt has {} bytes; the maximum is {}", "它的提示词为 {0} 字节；最多 {1} 字节"),
    ("the header {} has an invalid name or value", "请求头 {0} 的名称或值无效"),
    ("it is not a valid address", "地址无效"),
    ("the URL is too long", "URL 过长"),
    (
        "the URL has to begin with http:// or https:// and a host",
        "URL 必须以 http:// 或 https:// 开头，并包含主机名",
    ),
    ("a URL with a user name or password is not fetched", "URL 不能包含用户名或密码"),
    (
        "{} is an address of the server's own network, from which nothing is fetched",
        "{0} 是服务器所在网络的地址，不允许访问",
    ),
    // Logins.
    (
        "the MCP server {} requires a login: `sandbridge mcp-server login {}`",
        "MCP 服务器 {0} 需要登录：`sandbridge mcp-server login {1}`",
    ),
    (
        "it requires a login, which only its user can do: `sandbridge mcp-server login NAME`, or MCP servers in the settings",
        "需要登录，只有用户本人可以操作：使用 `sandbridge mcp-server login 名称`，或在设置的“MCP 服务器”中登录",
    ),
    ("it requires a login", "需要登录"),
    ("its login has expired; log in again", "登录已过期；请重新登录"),
    (
        "the MCP server {} is a program; only servers with an address have logins",
        "MCP 服务器 {0} 是程序；只有网络服务才需要登录",
    ),
    ("the login to the MCP server {} could not be started: {}", "无法开始登录 MCP 服务器 {0}：{1*}"),
    ("the login to the MCP server failed: {}", "登录 MCP 服务器失败：{0*}"),
    ("you are not logged in to the MCP server {}", "你尚未登录 MCP 服务器 {0}"),
    (
        "no login of yours is waiting for this address; start it again, and finish within 10 minutes",
        "此地址没有对应的登录请求；请重新开始登录，并在 10 分钟内完成",
    ),
    (
        "too many logins have begun on this server; try again in 10 minutes",
        "本服务器上进行中的登录过多；请在 10 分钟后重试",
    ),
    ("its login provider did not answer in time", "登录提供商响应超时"),
    ("its login provider returned no login page", "登录提供商未提供登录页面"),
    ("its login provider refused: {}", "登录提供商拒绝了登录：{0}"),
    ("the request to its login provider failed: {}", "向登录提供商发送的请求失败：{0}"),
    ("its login provider cannot be used: {}", "无法使用登录提供商：{0*}"),
    ("its login provider is not the one that it named: {}", "登录提供商与服务器声明的不一致：{0}"),
    (
        "the browser was sent to a different address from the one that the login asked for",
        "浏览器被重定向到的地址与登录时指定的不一致",
    ),
    (
        "the redirect address has to begin with https://, or be on the browser's own machine, such as http://127.0.0.1:PORT/, \
         without a query",
        "回调地址必须以 https:// 开头，或为浏览器所在机器的地址，例如 http://127.0.0.1:PORT/，且不含查询参数",
    ),
    // Connecting, and listing tools.
    ("it did not answer within {} s", "未在 {0} 秒内响应"),
    ("it did not list its tools within {} s", "未在 {0} 秒内返回工具列表"),
    ("it ended the connection", "服务器断开了连接"),
    ("it ended the connection{}", "服务器断开了连接{0}"),
    ("it refused: {}", "服务器拒绝了请求：{0}"),
    ("the connection ended before it answered", "连接在收到响应前断开"),
    ("the connection ended before it answered: {}", "连接在收到响应前断开：{0*}"),
    ("no machine can be reached", "无法连接任何机器"),
    (
        "it was changed or removed, or is not approved any more; see `sandbridge mcp-server list` for {}",
        "服务器已更改或移除，或批准已失效；请用 `sandbridge mcp-server list` 查看 {0}",
    ),
    ("it lists more than {} {}", "列出的{1*}超过 {0} 个"),
    ("the definitions of its {} have more than {} bytes", "{0*}的定义总计超过 {1} 字节"),
    ("its list of {} has more than {} pages", "{0*}列表超过 {1} 页"),
    ("tools", "工具"),
    ("skills", "技能"),
    ("its tools were listed by others at the same time; try again", "其他操作同时更新了工具列表；请重试"),
    ("an internal error of Sandbridge; its log says more", "Sandbridge 内部错误；详见日志"),
    ("Sandbridge is shutting down", "Sandbridge 正在关闭"),
    // Documents that define servers.
    ("the workspace's servers are not known: {}", "无法获取工作区的服务器：{0*}"),
    ("the server {} is not used: {}", "服务器 {0} 未使用：{1*}"),
    ("the server {} is left out: {}", "服务器 {0} 未使用：{1*}"),
    (
        "the server {} is left out: models could not tell it from {}",
        "服务器 {0} 未使用：模型无法将它与 {1} 区分",
    ),
    ("the content of {} cannot be checked on this machine", "无法在这台机器上检查 {0} 的内容"),
    (
        "its secrets cannot be decrypted, since the key is lost; add the server again",
        "密钥已丢失，无法解密其变量和请求头的值；请重新添加服务器",
    ),
    ("your servers", "你的服务器"),
    (
        "\"via\" belongs to an address: a command runs on the machine that you use",
        "“via”只用于地址：命令在你使用的机器上运行",
    ),
    (
        "its \"via\" is not the name of a runner: write one as `sandbridge runner list` shows it, or __docker__ for your container",
        "“via”不是运行器的名称：请填写 `sandbridge runner list` 中显示的名称，或表示你的容器的 __docker__",
    ),
    ("its response is longer than {} bytes", "响应超过 {0} 字节"),
    ("a request can have at most {} bytes", "请求最多 {0} 字节"),
    ("a file of the skill has more than {} bytes", "技能的某个文件超过 {0} 字节"),
    // Problems of a document.
    ("it is not a valid JSON object: {}", "不是有效的 JSON 对象：{0}"),
    ("it is not valid JSON: {}", "不是有效的 JSON：{0}"),
    ("it is not an object", "不是对象"),
    ("it is not a definition", "不是有效的定义"),
    ("it has no \"mcpServers\"", "缺少“mcpServers”"),
    ("\"mcpServers\" is not an object", "“mcpServers”不是对象"),
    ("the field {} has the wrong type", "字段 {0} 的类型有误"),
    ("it defines more than {} servers", "定义的服务器超过 {0} 个"),
    ("it is larger than {} KiB", "超过 {0} KiB"),
    ("its name must have 1 to {} bytes", "名称须为 1 至 {0} 字节"),
    ("plugin {}", "插件 {0}"),
    ("plugin {}: {}", "插件 {0}：{1}"),
    // Questions of a server to its user. Texts that the server wrote itself are not translated.
    ("The MCP server {} asks:", "MCP 服务器 {0} 询问："),
    ("The MCP server {} asks you to open a page on {}:", "MCP 服务器 {0} 请你打开 {1} 上的网页："),
    ("Open it only if you trust this server.", "请仅在信任此服务器时打开。"),
    (
        "The MCP server {} wants this answered by your model, with at most {} tokens:",
        "MCP 服务器 {0} 希望由你的模型回答以下内容，最多 {1} 个 token：",
    ),
    ("The answer goes to the server, and counts for your usage.", "回答会发给该服务器，并计入你的用量。"),
    ("Do you agree?", "你同意吗？"),
    ("(one or more, separated by commas)", "（一个或多个，以逗号分隔）"),
    ("One of:", "可选："),
    ("The last answer was not valid: {}.", "上次的回答无效：{0*}。"),
    ("choose one of the answers", "请从所列的回答中选择"),
    ("{} is not one of the choices", "{0} 不在选项之中"),
    ("write a whole number", "请输入整数"),
    ("write a number", "请输入数字"),
    ("write at least {}", "请输入不小于 {0} 的数"),
    ("write at most {}", "请输入不大于 {0} 的数"),
    ("Yes", "是"),
    ("No", "否"),
    ("Skip", "跳过"),
    ("Decline", "拒绝"),
    ("Use the suggested value", "使用建议的值"),
    ("I have done that", "我已完成"),
    ("Allow it once", "允许一次"),
    ("Allow it until this call ends", "在此次调用结束前都允许"),
];
