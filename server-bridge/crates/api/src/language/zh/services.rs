//! Services that the server asks: the addresses it fetches, MCP servers and their logins, HTTP tools.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // Every request to an address that somebody else names.
    (
        "it redirects to {}, which is another host, port or scheme; fetch that if it is what you want",
        "它重定向到 {0}，其主机、端口或协议与原地址不同；如果确实需要，请直接访问该地址",
    ),
    ("it redirects more than {} times", "重定向超过 {0} 次"),
    ("it redirects to an unencrypted address", "它重定向到未加密的地址"),
    ("it redirects to an invalid address", "它重定向到无效的地址"),
    ("the server answered {}", "服务器返回 {0}"),
    ("it is compressed as {}, which was not requested", "内容以 {0} 压缩，而请求中并未要求"),
    ("it did not arrive within {} s", "未在 {0} 秒内送达"),
    ("it cannot be reached: {}", "无法连接：{0*}"),
    ("a header's name is invalid", "某个请求头的名称无效"),
    ("a header's value is invalid", "某个请求头的值无效"),
    ("a header belongs to the connection and cannot be set", "某个请求头由连接本身控制，不能设置"),
    ("{} leads into the server's own network", "{0} 指向服务器所在的网络"),
    ("the method is invalid", "请求方法无效"),
    // MCP servers.
    (
        "its tools were never listed here, and it is not contacted in plan mode; check it first",
        "尚未获取过它的工具列表，而 plan 模式下不会连接它；请先检查该服务器",
    ),
    ("it listed no tools", "它没有返回任何工具"),
    (
        "it is still starting; its tools are available from the next message on",
        "它仍在启动；从下一条消息起可以使用它的工具",
    ),
    (
        "its tool {} has changed since this turn began; it can be called from the next message on",
        "它的工具 {0} 在本轮开始后已改变；从下一条消息起可以调用",
    ),
    ("it has no tool {} any more", "它已不再提供工具 {0}"),
    ("it does not read what is sent to it", "它没有读取发送给它的内容"),
    ("the call took more than {} s and was cancelled", "调用超过 {0} 秒，已取消"),
    ("it asked more than {} questions; the call was cancelled", "它的提问超过 {0} 个；调用已取消"),
    ("it asked the model more than {} times; the call was cancelled", "它请求模型超过 {0} 次；调用已取消"),
    (
        "no more requests can wait; ask again once one is answered",
        "等待中的请求已达上限；请在其中一个得到回答后重试",
    ),
    (
        "you are using {} MCP servers at once, which is the limit; wait until one is done",
        "你同时使用的 MCP 服务器已达上限（{0} 个）；请等待其中一个完成",
    ),
    (
        "the MCP server {} has no tool {}, or the tool changed and waits for your approval",
        "MCP 服务器 {0} 没有工具 {1}，或该工具已改变，正在等待你批准",
    ),
    ("there is no MCP server {} that can be used here", "此处没有可以使用的 MCP 服务器 {0}"),
    ("the program takes no more input", "程序不再接受输入"),
    ("the program ended", "程序已结束"),
    ("its end was not reported", "没有收到其结束状态"),
    ("its server was not needed any more", "已不再需要它的服务器"),
    ("it listed more than {} different tools", "它返回的工具超过 {0} 种"),
    ("its task failed", "它的任务失败"),
    ("it cancelled its task", "它取消了任务"),
    // The logins of MCP servers.
    ("it refuses the token that its client credentials gave", "它拒绝了用客户端凭据换取的令牌"),
    ("it names no login provider for its client credentials", "它没有为客户端凭据指明登录提供商"),
    (
        "its login provider changed, so these client credentials were not sent; if the change is right, add the server again",
        "登录提供商已变更，因此未发送客户端凭据；如果该变更无误，请重新添加服务器",
    ),
    ("its login provider refused the client credentials: {}", "登录提供商拒绝了客户端凭据：{0*}"),
    ("its login provider answered with something other than a token", "登录提供商返回的不是令牌"),
    ("its login provider answered without a token", "登录提供商的响应中没有令牌"),
    ("its login provider's address is not encrypted", "登录提供商的地址未加密"),
    ("its login provider has no name", "登录提供商没有名称"),
    ("the proof of its client's identity failed: {}", "客户端的身份验证失败：{0*}"),
    // HTTP tools.
    ("the service did not answer within {} ms", "服务未在 {0} 毫秒内响应"),
    (
        "it needs the secret {}, which is not set for {}; its user sets it with `sandbridge http-tool secret {} {}`, or under HTTP tools in the settings",
        "它需要密钥 {0}，但尚未为 {1} 设置；用户可用 `sandbridge http-tool secret {2} {3}` 或在设置的“HTTP 工具”中设置",
    ),
    (
        "{} is an address of the server's own network, where nothing is sent; the server's administrator can permit it with `--fetch-allow`",
        "{0} 是服务器所在网络的地址，不会向其发送请求；服务器管理员可用 `--fetch-allow` 允许",
    ),
    (
        "the service redirects to {}, which is another host, port or scheme; a tool's requests and secrets stay with its own ({})",
        "服务重定向到 {0}，其主机、端口或协议与原地址不同；工具的请求和密钥只发送到它自己的地址（{1}）",
    ),
    ("it has no list of `tools`", "缺少 `tools` 列表"),
    ("it is neither a list of tools nor an object with `tools`", "既不是工具列表，也不是含有 `tools` 的对象"),
    ("it defines {} tools; {} at most", "定义了 {0} 个工具；最多 {1} 个"),
    ("the address would have {} bytes; {} at most", "地址将达到 {0} 字节；最多 {1} 字节"),
    ("the body would have {} bytes; {} at most", "正文将达到 {0} 字节；最多 {1} 字节"),
    ("the arguments would change the form of the address", "参数会改变地址的结构"),
    ("the argument {} is a part of the path and must be given", "参数 {0} 是路径的一部分，必须提供"),
    ("a control character cannot be used in a path", "路径中不能使用控制字符"),
    ("an argument in the path is empty", "路径中的某个参数为空"),
    ("`.` or `..` as a part of a path is refused", "路径中的任何一段都不能是 `.` 或 `..`"),
    ("it may have two filters at most", "最多可有两个过滤条件"),
    ("it may use `match` and `search` {} times at most", "`match` 和 `search` 最多使用 {0} 次"),
    // Hooks, groups and channels.
    ("A hook says: {}", "钩子：{0}"),
    ("A hook ({}) adds: {}", "钩子（{0}）补充：{1}"),
    ("none of its hooks are used: {}", "其中的钩子均未使用：{0*}"),
    ("a rule denies this: {}", "规则拒绝了此操作：{0*}"),
    ("a hook's agent can only read files", "钩子的智能体只能读取文件"),
    ("a discussion has 2 to {} agents and 1 to {} rounds", "讨论须有 2 至 {0} 个智能体，进行 1 至 {1} 轮"),
    (
        "You are already linked with another user. Remove that link first, then get a new code from the server.",
        "你已绑定另一个用户。请先移除该绑定，再从服务器获取新的绑定码。",
    ),
    (
        "This code is wrong, was already used, or has expired. Get a new one from the server.",
        "此绑定码错误、已被使用或已过期。请从服务器获取新的绑定码。",
    ),
    (
        "the messenger did not say whether it took the message, even after {} tries",
        "尝试 {0} 次后，平台仍未说明是否已接收此消息",
    ),
    ("the person is no longer linked, or the group is off", "该用户已不再绑定，或本群已关闭回复"),
    ("the stored message cannot be read", "无法读取已保存的消息"),
    ("this is not a message", "这不是消息"),
    ("the chat was deleted", "会话已被删除"),
    ("it is larger than {} MiB", "超过 {0} MiB"),
];
