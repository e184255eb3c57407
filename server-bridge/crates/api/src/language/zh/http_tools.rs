//! HTTP tools.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What a tool asks to do, on the card of its approval.
    (
        "sends a {} request to {} with the HTTP tool {} of the workspace",
        "用工作区的 HTTP 工具 {2} 向 {1} 发送 {0} 请求",
    ),
    ("sends a {} request to {} with the HTTP tool {}", "用 HTTP 工具 {2} 向 {1} 发送 {0} 请求"),
    (
        "every call of the HTTP tool {}, which sends to {}, in this chat",
        "此会话中对 HTTP 工具 {0} 的所有调用（发送到 {1}）",
    ),
    ("request", "请求"),
    // Managing tools.
    ("the HTTP tool", "HTTP 工具"),
    ("the tool was not saved: {}", "未能保存工具：{0*}"),
    ("the secret {} was not saved: {}", "未能保存密钥 {0}：{1*}"),
    ("the document cannot be imported: {}", "无法导入该文档：{0*}"),
    ("the HTTP tool {} was not called: {}", "未调用 HTTP 工具 {0}：{1*}"),
    ("the workspace's tools are not known: {}", "无法获取工作区的工具：{0*}"),
    (
        "you have no HTTP tool {} of your own; see `sandbridge http-tool list`",
        "你自己的 HTTP 工具中没有 {0}；请用 `sandbridge http-tool list` 查看",
    ),
    (
        "there is no HTTP tool {} here; see `sandbridge http-tool list`",
        "此处没有 HTTP 工具 {0}；请用 `sandbridge http-tool list` 查看",
    ),
    (
        "the HTTP tool {} waits for your approval: look at it with `sandbridge http-tool approve {}`, or under HTTP tools in the settings",
        "HTTP 工具 {0} 正在等待你批准；请用 `sandbridge http-tool approve {1}` 或在设置的“HTTP 工具”中查看",
    ),
    (
        "no HTTP tool with this hash waits for approval; it may have changed since you looked at it: see `sandbridge http-tool list`",
        "没有与此哈希对应的 HTTP 工具等待批准；它可能在你查看之后已改变：请用 `sandbridge http-tool list` 查看",
    ),
    (
        "you approved no HTTP tool with this hash; see `sandbridge http-tool list`",
        "你没有批准过与此哈希对应的 HTTP 工具；请用 `sandbridge http-tool list` 查看",
    ),
    (
        "the document of the HTTP tool {} has no placeholder for it",
        "HTTP 工具 {0} 的文档中没有此密钥的占位符",
    ),
    ("it must have {} to {} bytes", "长度必须为 {0} 至 {1} 字节"),
    ("it contains a line break or another control character", "它含有换行符或其他控制字符"),
    ("its document has the name {}, and not {}", "其文档的名称是 {0}，而不是 {1}"),
    ("it has no tool {}; it has {}", "其中没有工具 {0}；只有 {1}"),
    ("none of its tools uses the secret {}", "其中没有工具使用密钥 {0}"),
    ("the arguments are not a JSON object: {}", "参数不是 JSON 对象：{0}"),
    // Documents.
    ("the tool {} is left out: {}", "已忽略工具 {0}：{1*}"),
    ("the tool {} is defined twice; the first one is used", "工具 {0} 定义了两次；只使用第一个"),
    ("your tools", "你的工具"),
    (
        "a workspace's tool can use no secrets; add it to your own tools instead",
        "工作区的工具不能使用密钥；请把它添加为你自己的工具",
    ),
    ("a workspace's file cannot contain secrets", "工作区的文件不能含有密钥"),
    ("there is no field {}; the fields are {}", "没有字段 {0}；可用的字段有 {1}"),
    ("`{}` must be a string", "`{0}` 必须是字符串"),
    ("`{}` must be an object", "`{0}` 必须是对象"),
    (
        "`name` must have 1 to {} letters, digits, `_` or `-`",
        "`name` 必须有 1 至 {0} 个字符：英文字母、数字、`_` 或 `-`",
    ),
    ("`method` must be one of {}", "`method` 必须是以下之一：{0}"),
    ("`timeout` must be a number of milliseconds from {} to {}", "`timeout` 必须是 {0} 至 {1} 之间的毫秒数"),
    (
        "`description` must have 1 to {} bytes: models choose a tool by it",
        "`description` 必须有 1 至 {0} 字节：模型据此选择工具",
    ),
    (
        "a placeholder cannot be used in the host, the port or the user name: write the host out, so that no argument can change it",
        "占位符不能出现在主机、端口或用户名中；请写出主机，使任何参数都无法改变它",
    ),
    (
        "a secret cannot be used in the path, which services and proxies log; put it into a header, the query or the body",
        "密钥不能出现在路径中，因为服务和代理会记录路径；请把密钥放入请求头、查询参数或正文",
    ),
    ("`{}` is not a parameter; add it to `parameters`", "`{0}` 没有对应的参数；请添加到 `parameters`"),
    ("{} cannot be used: {}", "{0} 无法使用：{1*}"),
    // Requests through a runner.
    (
        "`via` must be the name of one of your runners, as `sandbridge runner list` shows it, or `__docker__` for your container",
        "`via` 必须是你的某个运行器的名称（见 `sandbridge runner list`），或表示你的容器的 `__docker__`",
    ),
    (
        "nothing was sent: this runner sends HTTP requests only to the hosts that its machine's user named, and {} is not one of them. To permit it, start the runner with --http-allow {}",
        "未发送任何内容：此运行器只向所在机器的用户指定的主机发送 HTTP 请求，而 {0} 不在其中。如果确实要访问此主机，请在启动运行器时加上 --http-allow {1}",
    ),
    (
        "nothing was sent: {} is, or leads to, an address where clouds hand out credentials, or one that belongs to no service. To permit such an address, name the address itself with --http-allow",
        "未发送任何内容：{0} 是（或指向）云平台发放凭据的地址，或不属于任何服务的地址；如需允许，请用 --http-allow 指定该地址本身",
    ),
    (
        "nothing was sent: requests from {} reach only the hosts that the server's administrator named with {}, and never an address where clouds hand out credentials",
        "未发送任何内容：来自{0*}的请求只能访问服务器管理员用 {1} 指定的主机，且不能访问云平台发放凭据的地址",
    ),
    ("containers", "容器"),
    ("the server itself", "服务器本身"),
    ("runner {} sends no HTTP requests for the server: {}", "运行器 {0} 不为服务器发送 HTTP 请求：{1*}"),
    (
        "it is too old. Update it: `sandbridge runner update {}`",
        "它的版本过旧。请更新：`sandbridge runner update {0}`",
    ),
    (
        "it is too old. Update it: `sandbridge runner rotate {}` prints a line to paste on its machine, which installs the newer one",
        "它的版本过旧。请更新：`sandbridge runner rotate {0}` 会显示一行命令，粘贴到其机器上即可安装新版本",
    ),
    (
        "it speaks xbot's dialect. Connect the machine with sandbridge-runner instead: `sandbridge runner rotate {}` prints the line to paste there",
        "它使用 xbot 的协议。请改用 sandbridge-runner 连接该机器：`sandbridge runner rotate {0}` 会显示要在那里粘贴的命令",
    ),
    ("{} sent no complete response: {}", "{0} 没有给出完整的响应：{1*}"),
    ("it was silent for {} s", "它已 {0} 秒没有响应"),
    ("there are {}; the maximum is {}", "共有 {0} 个；最多 {1} 个"),
    ("its pattern {} cannot be used: {}", "其匹配模式 {0} 无法使用：{1*}"),
    // Problems of a document.
    ("a tool is a JSON object", "工具必须是 JSON 对象"),
    ("it has {} bytes; the maximum is {}", "长度为 {0} 字节；最多 {1} 字节"),
    ("they have {} bytes; the maximum is {}", "总长度为 {0} 字节；最多 {1} 字节"),
    ("{} has {} bytes; the maximum is {}", "{0} 为 {1} 字节；最多 {2} 字节"),
    (
        "it must begin with https:// or http:// and a host, written out",
        "必须以 https:// 或 http:// 开头，并直接写出主机名",
    ),
    (
        "it contains a user name or password; use a header with {{secret.NAME}}",
        "含有用户名或密码；请改用引用密钥的请求头",
    ),
    (
        "its host is invalid; write an international name in its ASCII form (xn--…)",
        "主机名无效；国际化域名请写成 ASCII 形式（xn--…）",
    ),
    ("its host or port is invalid: {}", "主机名或端口无效：{0*}"),
    ("it has a fragment (`#`), which is never sent", "含有片段（`#`），而片段不会被发送"),
    (
        "its path contains `.` or `..` as a segment; write the path without it",
        "路径中有一段是 `.` 或 `..`；请写出实际路径",
    ),
    ("it must be a string or a JSON object", "必须是字符串或 JSON 对象"),
    (
        "it is not JSON ({}); for another kind of body set the header Content-Type, for example to text/plain",
        "不是 JSON（{0}）；如需其他类型的正文，请设置请求头 Content-Type，例如 text/plain",
    ),
    (
        "a form must be a string like a=1&b={{x}} or a JSON object",
        "表单必须是形如 a=1&b=2 的字符串（值可用占位符），或 JSON 对象",
    ),
    ("a body of several parts (multipart) is not supported", "不支持由多个部分组成的正文（multipart）"),
    (
        "it is JSON, and the header Content-Type names another kind",
        "内容是 JSON，但请求头 Content-Type 指定了其他类型",
    ),
    ("it is deeper than {} levels", "嵌套超过 {0} 层"),
    ("a placeholder cannot be the name of a field, only its value", "占位符不能作为字段名，只能作为字段的值"),
    (
        "`bodyTemplate`: a {} request has no body; use `queryParams`",
        "`bodyTemplate`：{0} 请求没有正文；请使用 `queryParams`",
    ),
    ("{} is not a valid name of a header", "{0} 不是有效的请求头名称"),
    (
        "Accept-Encoding cannot be set: responses are read uncompressed",
        "不能设置 Accept-Encoding：只读取未压缩的响应",
    ),
    ("{} occurs twice", "{0} 出现了两次"),
    ("the key {} occurs twice", "键 {0} 出现了两次"),
    ("the value of {} must be a string", "{0} 的值必须是字符串"),
    ("the value of {} must be a string, a number or a boolean", "{0} 的值必须是字符串、数字或布尔值"),
    (
        "the list for {} can only contain strings, numbers and booleans",
        "{0} 的列表只能包含字符串、数字和布尔值",
    ),
    (
        "Content-Type cannot contain a placeholder: it decides how the body is written",
        "Content-Type 不能含有占位符：它决定正文的写法",
    ),
    (
        "a placeholder cannot be a name in a query or a form, only a value",
        "占位符不能作为查询参数或表单中的名称，只能作为值",
    ),
    ("a name in a query or a form must be a literal text", "查询参数或表单中的名称必须是固定文本"),
    ("it has {} names and values; the maximum is {}", "共有 {0} 对名称和值；最多 {1} 对"),
    ("a placeholder `{{` has no `}}`", "有占位符没有闭合"),
    (
        "`{}` is not a valid name of a secret: it must have 1 to {} letters, digits or `_`",
        "`{0}` 中的密钥名称无效：应为 1 至 {1} 个英文字母、数字或 `_`",
    ),
    (
        "`{}` is not a valid name of a parameter: it must have 1 to {} letters, digits, `_`, `-` or `.`",
        "`{0}` 中的参数名称无效：应为 1 至 {1} 个英文字母、数字、`_`、`-` 或 `.`",
    ),
    (
        "a name between its dots is empty; write for example data.items.0.name",
        "点号之间的名称为空；请写成 data.items.0.name 的形式",
    ),
    ("it is not a JSONPath as in RFC 9535: {}", "不是符合 RFC 9535 的 JSONPath：{0}"),
    (
        "they must be a list of parameters, a map of parameters, or a JSON schema of an object",
        "必须是对象的 JSON Schema、参数列表或参数映射",
    ),
    ("`properties` is not an object", "`properties` 不是对象"),
    (
        "{} is not a valid name for a parameter: use 1 to 64 letters, digits, `_`, `-` or `.`, and not `secret.` at its beginning",
        "{0} 不是有效的参数名称：请使用 1 至 64 个英文字母、数字、`_`、`-` 或 `.`，且不以 `secret.` 开头",
    ),
    ("the schema of {} is not an object", "{0} 的 JSON Schema 不是对象"),
    ("`required` is not a list of names", "`required` 不是名称列表"),
    ("`required` names {}, which is not among them", "`required` 中的 {0} 不是已有的参数"),
    ("each item of the list needs a `name`", "列表的每一项都需要 `name`"),
    ("{} is described by neither an object nor a text", "{0} 的说明既不是对象，也不是文本"),
    ("`required` of {} is neither true nor false", "{0} 的 `required` 既不是 true，也不是 false"),
    (
        "their schema refers to another document (`$ref`), which is not loaded",
        "JSON Schema 引用了另一个文档（`$ref`），而该文档不会被加载",
    ),
    // OpenAPI documents.
    ("it is neither JSON nor YAML that can be read: {}", "既不是 JSON，也不是可读取的 YAML：{0}"),
    (
        "it is of version 2 (Swagger); convert it to OpenAPI 3.0 first",
        "版本为 2（Swagger）；请先转换为 OpenAPI 3.0",
    ),
    ("it is not an OpenAPI document of version 3.0 or 3.1", "不是 3.0 或 3.1 版本的 OpenAPI 文档"),
    ("it has no `paths`", "缺少 `paths`"),
    ("it has no `servers`; {}", "缺少 `servers`；{0*}"),
    ("its first server {} has no host; {}", "第一个服务器 {0} 没有主机名；{1*}"),
    ("name the server's address yourself", "请自行填写服务器地址"),
    ("there is no field {}; the fields are tools and secrets", "没有字段 {0}；可用的字段有 tools 和 secrets"),
    // Responses, arguments, and the parts of a document that cannot be used.
    (
        "this response was not read within {} s, since others are still being read; try again later",
        "由于仍在读取其他响应，未能在 {0} 秒内读取此响应；请稍后重试",
    ),
    (
        "extracting from the response took longer than {} s; make `responseExtract` simpler",
        "从响应中提取内容的时间超过 {0} 秒；请简化 `responseExtract`",
    ),
    ("the response is too large", "响应过大"),
    (
        "a bracket in it can have only one wildcard, slice or filter: more would select the same values again",
        "其中的每个方括号只能有一个通配符、切片或过滤条件：再多就会重复选中相同的值",
    ),
    (
        "the second argument of `{}` must be a pattern between quotes, not one from the response",
        "`{0}` 的第二个参数必须是引号中的匹配模式，不能取自响应",
    ),
    (
        "it can have only one `..`, and none within or after a filter: more would take too long",
        "最多可有一个 `..`，且不能在过滤条件之中或之后：否则耗时过长",
    ),
    (
        "a filter in it looks at the whole response (`$`) again for each value, which would take too long",
        "其中的过滤条件对每个值都会重新查看整个响应（`$`），耗时过长",
    ),
    (
        "the selectors of its brackets, multiplied, are more than {}; name fewer in each",
        "各方括号中选择器的数量之积超过 {0}；请减少",
    ),
    ("the header {} would have {} bytes; the maximum is {}", "请求头 {0} 将达到 {1} 字节；最多 {2} 字节"),
    (
        "a line break or another control character cannot be used in a header",
        "请求头中不能使用换行符或其他控制字符",
    ),
    ("there is no argument {}; there are: {}", "没有参数 {0}；可用的参数：{1}"),
    ("the argument {} is missing; its schema is {}", "缺少参数 {0}；其 JSON Schema 为 {1}"),
    ("the argument {} cannot be used: {}", "参数 {0} 无法使用：{1*}"),
    ("the arguments are invalid: {}", "参数无效：{0*}"),
    ("it must be of the type {}", "类型必须是 {0}"),
    ("it must be one of {}", "必须是以下之一：{0}"),
    (
        "the secret {} is not set for this host; its user has to set it first",
        "尚未为此主机设置密钥 {0}；须由用户先设置",
    ),
    ("a list can only contain strings, numbers and booleans here", "此处的列表只能包含字符串、数字和布尔值"),
    (
        "an object cannot be used here; give a string, a number or a boolean",
        "此处不能使用对象；请给出字符串、数字或布尔值",
    ),
    ("their schema is deeper than {} levels", "JSON Schema 嵌套超过 {0} 层"),
    ("the path contains {}, which must be percent-encoded", "路径含有 {0}，必须使用百分号编码"),
    ("the query contains {}, which must be percent-encoded", "查询参数含有 {0}，必须使用百分号编码"),
    (
        "including what its aliases repeat, it has more than {} values or {} bytes",
        "包括别名重复的内容，超过 {0} 个值或 {1} 字节",
    ),
    ("JSON has no such number", "JSON 中没有这样的数字"),
    ("a key is not a text", "某个键不是文本"),
    ("the value of `<<` must consist of fields", "`<<` 的值必须由字段组成"),
    (
        "the HTTP tool {} was changed or removed since this turn began, and nothing was sent; search for it again with the next message",
        "HTTP 工具 {0} 在本轮开始后已更改或移除，未发送任何内容；请在下一条消息中重新搜索",
    ),
];
