//! Automations.

use super::Row;

/// The rows.
pub(super) const TABLE: &[Row] = &[
    // What a tool asks to do, on the card of its approval.
    ("makes a {}", "新建{0*}"),
    ("removes a {}", "移除{0*}"),
    ("pauses a {}", "暂停{0*}"),
    ("goes on with a {}", "继续{0*}"),
    ("runs a {} now", "立即运行{0*}"),
    ("schedule", "定时任务"),
    ("trigger", "触发器"),
    // Making one.
    ("an automation needs the text that it posts", "自动任务需要要发送的文本"),
    (
        "the text of an automation has {} bytes at most; put the rest into a file",
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
    ("an automation needs exactly one of schedule and trigger", "自动任务需要定时或触发器，且只能有一个"),
    ("{} of an automation must be one of: {}", "自动任务的 {0} 必须是以下之一：{1}"),
    (
        "a schedule needs exactly one of at, every and cron",
        "定时任务需要 at、every、cron 三者之一，且只能有一个",
    ),
    (
        "the time of a schedule is in the past; choose one that is still to come",
        "定时任务的时间已过去；请选择将来的时间",
    ),
    (
        "the time of a schedule is more than ten years away; choose an earlier one",
        "定时任务的时间在十年以后；请选择更早的时间",
    ),
    ("no time matches this schedule; choose another pattern", "没有符合此定时的时间；请更换表达式"),
    (
        "the time zone is not known; write one as in Europe/Berlin, Asia/Shanghai or UTC",
        "未知的时区；请写成 Europe/Berlin、Asia/Shanghai 或 UTC 的形式",
    ),
    (
        "the time of a schedule cannot be read; write it as in 2026-12-01T09:00, or with an offset as in 2026-12-01T09:00:00+01:00",
        "无法识别定时任务的时间；请写成 2026-12-01T09:00，或带偏移量的 2026-12-01T09:00:00+01:00",
    ),
    (
        "every needs a number and a unit as in 90s, 15m, 2h or 1d, from {} s to 366 d",
        "every 需要数字和单位，例如 90s、15m、2h 或 1d，范围为 {0} 秒到 366 天",
    ),
    (
        "the cron pattern cannot be read ({}); write minute, hour, day of the month, month and day of the week, as in 0 9 * * 1-5",
        "无法识别 cron 表达式（{0}）；请写分、时、日、月、星期，例如 0 9 * * 1-5",
    ),
    ("a schedule has no secret; leave it out", "定时任务没有密钥；请去掉它"),
    ("a schedule has no address", "定时任务没有地址"),
    (
        "the secret of a trigger needs {} characters at least; leave it out to get one",
        "触发器的密钥至少需要 {0} 个字符；留空则自动生成",
    ),
    ("a trigger has {} events, conditions and fields at most, each", "触发器的事件、条件和字段各最多 {0} 个"),
    ("an event, pointer or value of a trigger has {} bytes at most", "触发器的事件、指针或值最多 {0} 字节"),
    (
        "{} is no JSON pointer; write one as in /repository/full_name",
        "{0} 不是 JSON 指针；请写成 /repository/full_name 的形式",
    ),
    (
        "an agent's automation cannot be a ! command, which no rule would judge; write what the agent is to do",
        "智能体新建的自动任务不能是 ! 命令（规则无法评判）；请写明智能体要做什么",
    ),
    (
        "there is an automation {} already; choose another name, or ask the user to change it",
        "已有自动任务 {0}；请换一个名称，或请用户修改它",
    ),
    ("there is no automation {}", "没有自动任务 {0}"),
    ("its last slot is over; give it a new time", "它的最后一次已过去；请设置新的时间"),
    (
        "a trigger runs with a delivery; name a run that has one",
        "触发器需要收到的请求才能运行；请指定有请求的运行",
    ),
    ("the automation was removed meanwhile", "自动任务已在此期间被移除"),
    ("this version of the server cannot read the automation", "此版本的服务器无法读取该自动任务"),
    // What became of a run.
    ("it was paused meanwhile", "它在此期间被暂停"),
    ("another run waits already", "已有另一次运行在等待"),
    ("an earlier run had not ended", "前一次运行尚未结束"),
    (
        "all automations of a user run {} times in 24 hours at most",
        "一个用户的所有自动任务 24 小时内最多运行 {0} 次",
    ),
    ("its last {} runs failed", "它最近 {0} 次运行都失败了"),
    (
        "the automation {} is paused: {}; `sandbridge cron resume {}` goes on with it",
        "自动任务 {0} 已暂停：{1*}；用 `sandbridge cron resume {2}` 继续",
    ),
    ("the server was not running at that time", "当时服务器未运行"),
    ("{}, nor at the {} times before", "{0*}，此前 {1} 次也是"),
    ("its command ended with exit code {}", "其命令以退出码 {0} 结束"),
    ("its answer was {}", "其回答{0*}"),
    ("its message could not be posted", "无法发送其消息"),
    ("the server could not post its message; its log says why", "服务器无法发送其消息；原因见日志"),
    // Deliveries that were not let in.
    (
        "its signature is wrong: the sender has another secret, or somebody else sent it",
        "签名错误：发送方的密钥不同，或由他人发送",
    ),
    (
        "its time is more than 5 minutes from the server's: it was sent again, or a clock is wrong",
        "其时间与服务器相差超过 5 分钟：可能是重放，或时钟有误",
    ),
    ("it has no header {}", "缺少请求头 {0}"),
    ("its header Authorization has no Bearer token", "请求头 Authorization 中没有 Bearer 令牌"),
    (
        "it is no JSON; choose application/json as the content type where it is sent",
        "它不是 JSON；请在发送处选择 application/json",
    ),
    ("it is not UTF-8", "它不是 UTF-8"),
    ("it is larger than 1 MiB", "它超过 1 MiB"),
    ("its secret is lost; make a new address", "其密钥已丢失；请生成新地址"),
    ("it came while the trigger was paused", "触发器暂停期间收到"),
    ("its event is {}", "其事件为 {0}"),
    ("it names no event", "它没有说明事件"),
    ("{} is not {}", "{0} 不是 {1}"),
];
