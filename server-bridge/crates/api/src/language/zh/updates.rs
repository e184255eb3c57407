//! Runners that update themselves, and the layers of confinement that a machine lacks.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // An update that failed.
    (
        "the update to {} failed: {}; the runner stays at version {}",
        "更新到 {0} 失败：{1*}；运行器仍为版本 {2}",
    ),
    (
        "{}; paste the install line again: `sandbridge runner rotate NAME` and the settings on the server's web page show one",
        "{0*}；请重新粘贴安装命令：可用 `sandbridge runner rotate 名称` 或在网页的设置中获取",
    ),
    ("the running program is no longer in {}", "运行中的程序已不在 {0}"),
    ("{} is read-only", "{0} 是只读的"),
    (
        "the runner's user has no permission to replace files in {}: {}",
        "运行器的用户无权替换 {0} 中的文件：{1*}",
    ),
    ("commands may write to {}, where the program is", "命令可以写入程序所在的 {0}"),
    (
        "the link is not encrypted, and anyone on the way could send another program",
        "连接未加密，传输途中的任何人都可能把下载的程序换掉",
    ),
    ("the system does not report which program this is", "系统没有给出当前程序的路径"),
    (
        "this runner is version {}, and its server has no runner to hand out",
        "此运行器的版本是 {0}，其服务器没有可提供的运行器",
    ),
    (
        "this runner is version {} and its server hands out {}: there is nothing newer",
        "此运行器的版本是 {0}，其服务器提供的是 {1}：没有更新的版本",
    ),
    (
        "the download is larger than the limit for a runner ({} MiB)",
        "下载内容超过运行器的大小上限（{0} MiB）",
    ),
    ("the server's response is not a SHA-256", "服务器的响应不是 SHA-256"),
    ("{} has {} KiB left and the new program needs {}", "{0} 剩余 {1} KiB，新程序需要 {2} KiB"),
    ("the new program cannot be written to {}: {}", "无法将新程序写入 {0}：{1*}"),
    (
        "the download is not the runner that the server announced: it was cut off or changed on the way",
        "下载内容与服务器声明的运行器不符：传输被中断或内容在途中被更改",
    ),
    (
        "the server hands out version {} and calls it {}: tell its administrator",
        "服务器提供的是版本 {0}，却标为 {1}：请告知其管理员",
    ),
    ("the server cannot be reached: {}", "无法连接服务器：{0*}"),
    (
        "the download is redirected to {}, by a captive portal or a proxy and not by the server",
        "下载被重定向到 {0}：这来自网络认证页面或代理，而不是服务器",
    ),
    (
        "a web page arrived instead of the runner: a captive portal or a proxy answered for the server",
        "收到的是网页而不是运行器：网络认证页面或代理代替服务器作出了响应",
    ),
    ("the server answered {} instead of the runner: {}", "服务器返回 {0}，而不是运行器：{1}"),
    ("the server hands out version {} but announced {}", "服务器提供的是版本 {0}，声明的却是 {1}"),
    (
        "the download has no version, so it does not come from a Sandbridge server",
        "下载内容没有版本，因此不是来自 Sandbridge 服务器",
    ),
    ("the download failed: {}", "下载失败：{0*}"),
    ("it cannot be put in place: {}", "无法替换程序文件：{0*}"),
    ("the new program cannot be run: {}", "无法运行新程序：{0*}"),
    ("the new program cannot be tried: {}", "无法试运行新程序：{0*}"),
    ("the new program did not register within {} s", "新程序未在 {0} 秒内注册"),
    (
        "the new program did not register and ended with {}; see the runner's log",
        "新程序没有注册就结束了（{0}）；请查看运行器的日志",
    ),
    (
        "the download is not a runner for this machine: it did not report a version and ended with {}",
        "下载内容不是适用于此机器的运行器：它没有报告版本，以 {0} 结束",
    ),
    // Layers that are not enforced.
    ("left out by --without", "已按 --without 省略"),
    ("switched off by the profile full-control", "已按沙箱配置 full-control 停用"),
    ("switched off by --allow-git-config", "已按 --allow-git-config 停用"),
    ("{}: unlimited memory, processes and processors", "{0*}：内存、进程数和处理器均无限制"),
    ("switched off", "已停用"),
    (
        "the kernel has no Landlock (5.13 or newer, and enabled at boot)",
        "内核没有 Landlock（需要 5.13 或更高版本，并在启动时启用）",
    ),
    ("needs Landlock ABI 6 (Linux 6.12)", "需要 Landlock ABI 6（Linux 6.12）"),
    ("not permitted here (neither root nor a user namespace)", "此处不允许（既非 root，也没有用户命名空间）"),
    (
        "not permitted here (neither root nor a user namespace): {}",
        "此处不允许（既非 root，也没有用户命名空间）：{0}",
    ),
    ("the workspace is the whole machine", "工作区是整台机器"),
    ("the workspace is read-only", "工作区是只读的"),
    ("not protected here: that needs a mount namespace", "此处未保护：需要挂载命名空间"),
    (
        "not closed here: that needs a mount namespace, or Landlock ABI 9",
        "此处未封闭：需要挂载命名空间或 Landlock ABI 9",
    ),
    ("{} ({} gaps): {}", "{0*}（{1} 处例外）：{2}"),
    ("not protected everywhere", "未完全受保护"),
    ("not closed everywhere", "未完全封闭"),
    (
        "{}; this user's git obeys any bare repository that a command leaves in a directory: run `git config --global safe.bareRepository explicit` and restart the runner",
        "{0*}；该用户的 Git 会采用命令留在目录中的任何裸仓库：请运行 `git config --global safe.bareRepository explicit` 并重启运行器",
    ),
    ("no repository was in the workspace at startup", "启动时工作区中没有仓库"),
    (
        "hooks and configuration are read-only (repositories at startup: {})",
        "钩子和配置是只读的（启动时的仓库数：{0}）",
    ),
    ("started without the guardian", "启动时没有守护进程"),
    ("the runner runs without its guardian", "运行器没有守护进程"),
    (
        "all: what this machine reaches, its own services included",
        "all：这台机器能访问的一切，包括其自身的服务",
    ),
];
