//! Requests of programs that the interface refuses, and the rest of what the server says about a caller's values.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // Values, as the store names them: "the persona is longer than 8192 bytes; shorten it".
    ("the persona", "人设"),
    ("the justification", "理由"),
    ("the document of hooks", "钩子文档"),
    ("the delivery", "请求"),
    ("the list of tools", "工具列表"),
    ("the login", "登录信息"),
    ("the role", "角色"),
    ("the worktree", "工作树"),
    ("the scope of a key", "密钥的权限"),
    ("the {} must be full, exec or read", "{0*}必须是 full、exec 或 read"),
    ("scope of a key", "密钥的权限"),
    ("the send_id", "发送编号（send_id）"),
    ("the send id", "发送编号（send_id）"),
    ("the list", "列表"),
    ("the id", "编号"),
    ("the call id", "调用编号"),
    ("the kind", "类型"),
    ("the mode", "模式"),
    ("the place", "位置"),
    ("the item", "条目"),
    ("the result", "结果"),
    ("the summary", "摘要"),
    ("the memory's scope", "记忆的作用域"),
    ("the node's URL", "节点的地址"),
    ("the chat id", "会话的编号"),
    ("the exec id", "命令的编号"),
    ("call", "请求"),
    ("prompts", "提示词"),
    ("{} must be 32 hexadecimal digits", "{0}必须是 32 位十六进制数字"),
    ("{} is empty; leave it out, or give one", "{0}为空；请去掉，或填写内容"),
    ("{} has more than {} items; merge some", "{0}超过 {1} 项；请合并一些"),
    // Addresses and forms of requests.
    ("there is no such endpoint; see /api/v1/openapi.json", "没有这个接口；请查看 /api/v1/openapi.json"),
    (
        "this endpoint does not take that method; see /api/v1/openapi.json",
        "此接口不支持该请求方法；请查看 /api/v1/openapi.json",
    ),
    (
        "a request of a page's session needs an Origin header; programs log in without one",
        "网页登录会话的请求需要请求头 Origin；程序登录则不需要",
    ),
    (
        "without a login a request's body can have {} bytes at most; log in first",
        "未登录时，请求正文最多 {0} 字节；请先登录",
    ),
    (
        "the request's length is ambiguous; send one Content-Length, or Transfer-Encoding: chunked alone",
        "请求的长度不明确；请只发送一个 Content-Length，或只发送 Transfer-Encoding: chunked",
    ),
    ("the request has several Host headers; send one", "请求有多个 Host 请求头；请只发送一个"),
    ("the Host header is missing, empty or not ASCII", "请求头 Host 缺失、为空或不是 ASCII"),
    (
        "the request's address is for {} and its Host header for {}; send the same name in both",
        "请求地址中的主机名是 {0}，而请求头 Host 是 {1}；两处请使用相同的名称",
    ),
    ("{}; connect with a WebSocket client", "{0*}；请用 WebSocket 客户端连接"),
    ("an approval's id is a number", "批准的编号必须是数字"),
    ("a memory's id is a number", "记忆的编号必须是数字"),
    ("proposed cannot be combined with q or agent", "proposed 不能与 q 或 agent 同时使用"),
    (
        "an agent of a group works on one machine: leave out project",
        "群组的智能体只在一台机器上工作：请去掉 project",
    ),
    (
        "kind must be core, semantic, episodic or procedural",
        "类型必须是 core、semantic、episodic 或 procedural",
    ),
    ("format must be json or markdown", "格式必须是 json 或 markdown"),
    (
        "give either turns (at least 1) or message_id, not both",
        "请只给出 turns（至少为 1）和 message_id 中的一个",
    ),
    ("before and after exclude each other; leave one out", "before 和 after 不能同时使用；请去掉其中一个"),
    (
        "`nobody` and `allow` exclude each other; leave one out",
        "`nobody` 和 `allow` 不能同时使用；请去掉其中一个",
    ),
    ("after and epoch belong together; give both, or neither", "after 和 epoch 必须同时给出，或都不给出"),
    ("a code signs a page in; programs log in with a password", "登录码仅供网页登录使用；程序请用密码登录"),
    (
        "tickets are for pages; a key is sent in an Authorization header",
        "票据仅供网页使用；密钥请放在请求头 Authorization 中",
    ),
    ("a ticket opens files, archives and exports, and nothing else", "票据只能用于打开文件、归档和导出内容"),
    ("the address is longer than {} bytes", "地址超过 {0} 字节"),
    ("a prefix has at most {} bytes and no NUL", "前缀最多 {0} 字节，且不能含有 NUL"),
    ("path_base64 must be URL-safe base64 without padding", "path_base64 必须是不带填充的 URL 安全 base64"),
    ("give If-Match or if_match, not both", "请只给出 If-Match 和 if_match 中的一个"),
    (
        "if_match must be the SHA-256 of the present content in 64 hexadecimal digits",
        "if_match 必须是当前内容的 SHA-256（64 位十六进制数字）",
    ),
    ("sha256 must be 64 hexadecimal digits", "sha256 必须是 64 位十六进制数字"),
    // Commands of programs.
    ("no command arrived; send it as the first frame", "没有收到命令；请将其作为第一帧发送"),
    (
        "the first frame must be text: the command to run, as JSON",
        "第一帧必须是文本：以 JSON 表示的要运行的命令",
    ),
    ("the request to run a command is invalid: {}", "运行命令的请求无效：{0*}"),
    ("exec_id must be 32 hexadecimal digits", "exec_id 必须是 32 位十六进制数字"),
    ("give either `argv`, with a program, or `shell`", "请给出 `argv`（包含程序）和 `shell` 中的一个"),
    ("{} is not a name of an environment variable", "{0} 不是有效的环境变量名"),
    ("timeout_s must be more than 0 and at most {} seconds", "timeout_s 必须大于 0，且不超过 {0} 秒"),
    (
        "linger_s is for a pty only: use detach for a command without one",
        "linger_s 仅用于 pty：不带 pty 的命令请使用 detach",
    ),
    ("linger_s must be between 1 and {}", "linger_s 必须在 1 至 {0} 之间"),
    // Programs that use the server's MCP interface, and deliveries.
    (
        "an MCP client needs a key: make one with `sandbridge key add NAME` and send it as `Authorization: Bearer sbk_…`",
        "MCP 客户端需要密钥：请用 `sandbridge key add 名称` 创建，并以 `Authorization: Bearer sbk_…` 发送",
    ),
    ("there is no such session; initialize a new one", "没有这个会话连接；请重新初始化"),
    ("a delivery may have {} MiB at most", "推送的请求最多 {0} MiB"),
    ("the delivery did not arrive in time", "推送的请求未在规定时间内送达"),
    // Runners.
    (
        "this server hands out the runner for {} only, not for {}: build it on such a machine with `scripts/build`, which makes dist/sandbridge-runner",
        "本服务器只提供 {0} 的运行器，不提供 {1} 的：请在这种机器上用 `scripts/build` 构建，生成的程序是 dist/sandbridge-runner",
    ),
    (
        "A second runner with the token of {} connected from {} and took over from {}. If that was not you, rotate or revoke {}.",
        "另一个使用 {0} 的令牌的运行器从 {1} 连接，接替了 {2}。如果不是你本人操作，请轮换 {3} 的令牌或吊销它。",
    ),
    (
        "the connection was closed in favour of a newer one: too many are open without a login",
        "未登录的连接过多；已关闭此连接，以接纳较新的连接",
    ),
];
