//! Automations.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What a tool asks to do, on the card of its approval.
    ("makes a {}", "新建{0*}"),
    ("removes a {}", "移除{0*}"),
    ("pauses a {}", "暂停{0*}"),
    ("resumes a {}", "恢复{0*}"),
    ("runs a {} now", "立即运行{0*}"),
    ("schedule", "定时任务"),
    ("trigger", "触发器"),
    // Adding an automation.
    (
        "an automation needs a text; write the message that it is to post",
        "自动任务缺少文本；请填写要发送的消息",
    ),
    (
        "the text of an automation can have at most {} bytes; put the rest into a file",
        "自动任务的文本最多 {0} 字节；请把其余内容放到文件中",
    ),
    (
        "the text of an automation cannot be a / command; write what the agent is to do",
        "自动任务的文本不能是 / 命令；请写明智能体要做什么",
    ),
    (
        "the text of a trigger cannot be a ! command; write what the agent is to do with the delivery",
        "触发器的文本不能是 ! 命令；请写明智能体如何处理收到的请求",
    ),
    (
        "an automation needs exactly one of schedule and trigger",
        "自动任务必须且只能有 schedule 和 trigger 之一",
    ),
    ("{} of an automation must be one of: {}", "自动任务的 {0} 必须是以下之一：{1}"),
    ("a schedule needs exactly one of at, every and cron", "定时任务必须且只能有 at、every、cron 之一"),
    (
        "the time of a schedule is in the past; choose one that is still to come",
        "定时任务的时间已过去；请选择将来的时间",
    ),
    (
        "the time of a schedule is more than ten years away; choose an earlier one",
        "定时任务的时间距今超过十年；请选择更早的时间",
    ),
    ("no time matches this schedule; choose another pattern", "没有符合此定时任务的时间；请更换表达式"),
    (
        "the time zone is not known; use a name such as Europe/Berlin, Asia/Shanghai or UTC",
        "未知的时区；请写成 Europe/Berlin、Asia/Shanghai 或 UTC 的形式",
    ),
    (
        "the time of a schedule cannot be read; write it like 2026-12-01T09:00, or with an offset like 2026-12-01T09:00:00+01:00",
        "无法识别定时任务的时间；请写成 2026-12-01T09:00，或带偏移量的 2026-12-01T09:00:00+01:00",
    ),
    (
        "every needs a number and a unit, such as 90s, 15m, 2h or 1d, from {} s to 366 d",
        "every 需要数字和单位，例如 90s、15m、2h 或 1d，范围为 {0} 秒至 366 天",
    ),
    (
        "the cron pattern cannot be read ({}); write the five fields minute, hour, day of the month, month and day of the week, such as 0 9 * * 1-5",
        "无法识别 cron 表达式（{0}）；请依次写出分、时、日、月、星期五个字段，例如 0 9 * * 1-5",
    ),
    ("a schedule has no secret; leave it out", "定时任务不使用密钥；请去掉"),
    ("a schedule has no address; only triggers have one", "定时任务没有地址；只有触发器才有"),
    (
        "the secret of a trigger needs at least {} bytes; leave it out to get a generated one",
        "触发器的密钥至少需要 {0} 字节；留空则自动生成",
    ),
    (
        "a trigger can have at most {} each of events, conditions and fields; remove some",
        "触发器的事件、条件和字段各最多 {0} 个；请删减",
    ),
    (
        "an event, pointer or value of a trigger can have at most {} bytes; shorten it",
        "触发器的事件、指针或值最多 {0} 字节；请缩短",
    ),
    (
        "{} is not a JSON pointer; write one such as /repository/full_name",
        "{0} 不是 JSON 指针；请写成 /repository/full_name 的形式",
    ),
    (
        "an automation that an agent creates cannot be a ! command, because no rule would check the command; write what the agent is to do",
        "智能体新建的自动任务不能是 ! 命令，因为没有规则会检查它；请写明智能体要做什么",
    ),
    (
        "an automation named {} already exists; choose another name, or ask the user to change it",
        "自动任务 {0} 已存在；请换一个名称，或请用户修改",
    ),
    ("there is no automation {}", "没有自动任务 {0}"),
    ("the schedule's last run time has passed; set a new time", "最后一次运行时间已过；请设置新的时间"),
    (
        "a trigger can only run with a delivery; name an earlier run whose delivery is kept",
        "触发器只能用收到过的请求运行；请指定一次保留了请求的运行",
    ),
    ("the automation has been removed in the meantime", "自动任务在此期间已被移除"),
    (
        "this version of the server cannot read the automation; update the server, or define the automation again",
        "此版本的服务器无法读取该自动任务；请更新服务器，或重新设置该自动任务",
    ),
    // The outcome of a run.
    ("the automation was paused in the meantime", "自动任务在此期间已暂停"),
    ("another run is already waiting", "已有另一次运行在等待"),
    ("an earlier run had not ended", "前一次运行尚未结束"),
    (
        "a user's automations can run at most {} times in 24 hours; this run exceeded the limit",
        "每个用户的自动任务 24 小时内最多运行 {0} 次；本次运行已超出上限",
    ),
    ("its last {} runs failed", "最近 {0} 次运行都失败了"),
    (
        "it was proposed for {}, who no longer has permission to ask @{}",
        "它是为 {0} 提议的，而 {0} 已无权询问 @{1}",
    ),
    (
        "the automation {} is paused: {}; resume it with `sandbridge {} resume {}`",
        "自动任务 {0} 已暂停：{1*}；用 `sandbridge {2} resume {3}` 恢复",
    ),
    ("the server was not running at that time", "当时服务器未运行"),
    ("{}, nor at the {} earlier times", "{0*}，此前 {1} 次也是如此"),
    ("its command ended with exit code {}", "命令以退出码 {0} 结束"),
    ("its answer failed", "回答失败"),
    ("its answer was cancelled", "回答已取消"),
    ("its answer was interrupted", "回答已中断"),
    ("its command ended with the status {}", "命令的最终状态：{0*}"),
    ("signaled", "被信号终止"),
    ("its message could not be posted", "消息未能发送"),
    (
        "the server could not post the message; see the server's log for the reason",
        "服务器未能发送消息；原因见服务器日志",
    ),
    // Refused deliveries.
    (
        "the signature is wrong: the sender uses another secret, or somebody else sent the delivery",
        "签名错误：发送方使用了不同的密钥，或请求来自他人",
    ),
    (
        "the delivery's time differs from the server's by more than 5 minutes: it was sent again, or a clock is wrong",
        "签名时间与服务器时间相差超过 5 分钟：可能是重放，或时钟有误",
    ),
    ("the delivery has no header {}", "缺少请求头 {0}"),
    (
        "the delivery's header Authorization contains no Bearer token",
        "请求头 Authorization 中没有 Bearer 令牌",
    ),
    (
        "the delivery is not JSON; set the sender's content type to application/json",
        "内容不是 JSON；请在发送方将内容类型设为 application/json",
    ),
    ("it is not UTF-8", "内容不是 UTF-8 编码"),
    ("it is larger than 1 MiB", "内容超过 1 MiB"),
    ("the trigger's secret is lost; create a new address", "触发器的密钥已丢失；请生成新地址"),
    ("it arrived while the trigger was paused", "在触发器暂停期间收到"),
    ("the delivery's event is {}", "事件为 {0}"),
    ("the delivery names no event", "请求未注明事件"),
    ("/{} is not {}", "/{0} 不是 {1}"),
    // Refusals of the store.
    ("automation", "自动任务"),
    ("delivery", "保留的请求"),
    ("run", "运行记录"),
    ("the automation", "自动任务"),
    ("the run", "运行"),
    (
        "{} has the same name as an automation of the other kind (schedule or trigger); choose another name",
        "已有同名的另一类{0}（定时任务或触发器）；请换一个名称",
    ),
    (
        "{} exceeds the limit: {} are already waiting; try again later",
        "等待中的{0}已达上限（{1} 次）；请稍后重试",
    ),
    ("the automation could not be checked", "无法检查该自动任务"),
    ("it is too long", "过长"),
    ("there is no trigger at this address", "此地址没有触发器"),
    ("refused deliveries", "被拒绝的请求"),
    (
        "the delivery is not signed as this address requires; check the secret that the sender uses",
        "请求的签名不符合此地址的要求；请检查发送方的密钥",
    ),
    (
        "this version of the server does not know the trigger's kind of signature",
        "此版本的服务器不支持该触发器的签名方式",
    ),
];
