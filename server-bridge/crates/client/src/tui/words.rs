//! The screen's texts in the language of the person at the terminal, according to their locale.
//!
//! Code writes every text in English; a row here is its translation, in which `{0}` is the value of the first `{}`. The server's
//! texts come in this language already, or are looked up in its own table.

use api::language::{Language, Row, in_table};

/// The language of the locale in the first of these variables that is set.
pub(super) fn language(variable: impl Fn(&str) -> Option<String>) -> Language {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    ["LC_ALL", "LC_MESSAGES", "LANG"]
        .iter()
        .find_map(set)
        .map_or_else(Language::default, |locale| Language::of_locale(&locale))
}

/// A text of this program, or of the server, in a language.
pub(super) fn say(language: Language, text: &str) -> String {
    let own = match language {
        Language::English => None,
        Language::Chinese => in_table(CHINESE, text),
    };
    own.unwrap_or_else(|| language.translated(text).into_owned())
}

/// Simplified Chinese, in the terms of the page.
const CHINESE: &[Row] = &[
    // The frame.
    ("New chat", "新建会话"),
    ("(untitled)", "（未命名）"),
    ("online", "在线"),
    ("offline", "离线"),
    ("(not known)", "（未知）"),
    ("this chat's own", "此会话固定使用"),
    ("no model", "无模型"),
    ("mode {}", "审批 {0}"),
    ("no runner", "没有运行器"),
    ("no runner chosen", "未选择运行器"),
    ("add one with `sandbridge runner add`", "用 `sandbridge runner add` 添加"),
    ("Ctrl+R chooses one", "按 Ctrl+R 选择"),
    ("it is no longer there", "它已不存在"),
    ("the Docker container", "Docker 容器"),
    ("the server itself", "服务器本机"),
    (" Connecting… ", " 正在连接… "),
    (" Not connected, trying again: {} ", " 未连接，正在重试：{0} "),
    (" Not connected, trying again in {} s: {} ", " 未连接，{0} 秒后重试：{1} "),
    ("To do: {} of {} done", "待办：已完成 {0}/{1}"),
    ("{} in · {} out", "输入 {0} · 输出 {1}"),
    ("{} in · {} out · {}", "输入 {0} · 输出 {1} · {2}"),
    // The input.
    (" sending… ", " 正在发送… "),
    (" Tab: answer the question ", " Tab：回答问题 "),
    (
        " Up/Down choose · Enter folds and unfolds · Esc goes back to the text ",
        " ↑/↓ 选择 · Enter 折叠或展开 · Esc 返回输入 ",
    ),
    (" Esc cancels ", " Esc 取消 "),
    (
        "Say something · ! runs a command · /help · Ctrl+K all commands",
        "输入消息 · ! 运行命令 · /help · Ctrl+K 所有命令",
    ),
    // An empty chat, and more lines below.
    (" ↓ {} more · Ctrl+End ", " ↓ 还有 {0} 行 · Ctrl+End "),
    ("There are no messages yet. Where commands run: {}.", "这里还没有消息。命令运行位置：{0}。"),
    ("!ls            runs a command there", "!ls            在该处运行命令"),
    ("/help          lists the slash commands", "/help          列出斜杠命令"),
    ("Ctrl+K         lists all actions", "Ctrl+K         列出所有操作"),
    ("F1             lists the keys", "F1             列出快捷键"),
    // Cards.
    ("running", "运行中"),
    ("asking", "等待你的确认"),
    ("done", "完成"),
    ("failed", "失败"),
    ("denied", "已拒绝"),
    ("cancelled", "已取消"),
    ("interrupted", "已中断"),
    ("exit {}", "退出码 {0}"),
    ("signal {}", "信号 {0}"),
    ("timed out", "已超时"),
    ("could not run", "无法运行"),
    ("lost", "已失联"),
    ("denied by the sandbox", "被沙箱拒绝"),
    ("on {}", "位置：{0}"),
    ("asked by the sub-agent {}", "由子智能体 {0} 请求"),
    ("whole output in {}", "完整输出见 {0}"),
    ("↳ step {} · {}", "↳ 第 {0} 步 · {1}"),
    ("│ … {} earlier", "│ … 更早的 {0} 行"),
    ("│ … {} earlier · Tab, Enter unfolds", "│ … 更早的 {0} 行 · Tab、Enter 展开"),
    ("│ … {} more", "│ … 还有 {0} 行"),
    ("│ … {} more · Tab, Enter unfolds", "│ … 还有 {0} 行 · Tab、Enter 展开"),
    ("✻ thinking…", "✻ 正在思考…"),
    ("✻ thought about it", "✻ 已思考"),
    ("… waiting for its turn", "… 正在排队"),
    // Questions.
    ("? The model asks", "? 模型提问"),
    ("? {} wants to run on ", "? {0} 请求运行，位置："),
    ("? {} wants to run", "? {0} 请求运行"),
    ("  (1 of {})", "  （1/{0}）"),
    ("│ lines {} to {} of {}: Up and Down", "│ 第 {0} 至 {1} 行，共 {2} 行：按 ↑/↓ 滚动"),
    (
        "a allow once   A allow always   d deny   Esc cancels all",
        "a 允许一次   A 始终允许   d 拒绝   Esc 全部取消",
    ),
    ("a allow once   d deny   Esc cancels all", "a 允许一次   d 拒绝   Esc 全部取消"),
    ("Tab: answer it", "Tab：回答"),
    ("in your own words:", "自行输入："),
    (
        "Enter answers; Enter on the empty last line declines to answer",
        "Enter 回答；在空白的最后一行按 Enter 则不回答",
    ),
    ("this can only be allowed once: press a to allow it", "此操作不能始终允许：按 a 允许这一次"),
    ("not connected: answer it when the server is back", "未连接：请在服务器恢复后回答"),
    ("it was answered elsewhere already", "已在别处回答"),
    // Notes.
    ("nothing is running here", "此会话中没有正在运行的命令或回答"),
    ("approval mode: {}", "审批模式：{0}"),
    ("not sent: {}", "未发送：{0}"),
    (
        "not sent: {}; send it again unchanged: it cannot arrive twice",
        "未发送：{0}；请原样重新发送，只会送达一次",
    ),
    ("this chat no longer exists; a new one was opened", "此会话已不存在；已打开新会话"),
    ("this chat was deleted", "此会话已删除"),
    ("connected again", "已重新连接"),
    (
        "not connected: what you wrote stays here; send it when the server is back",
        "未连接：已输入的内容保留在此，请在服务器恢复后发送",
    ),
    ("that was too long; only its beginning was kept", "内容过长，只保留了开头"),
    ("Ctrl+K, “Undo by force” undoes it anyway", "如仍要撤回，请按 Ctrl+K 并选择“强制撤回”"),
    // What agents did to the screen.
    ("the agent opened the chat “{}”", "智能体打开了会话“{0}”"),
    ("the agent opened another chat", "智能体打开了另一个会话"),
    ("the agent opened a new chat", "智能体新建并打开了一个会话"),
    ("the agent opened the list of chats", "智能体打开了会话列表"),
    ("the agent opened the list of runners", "智能体打开了运行器列表"),
    ("the agent opened the list of models", "智能体打开了模型列表"),
    ("the agent opened the list of groups", "智能体打开了群组列表"),
    ("the agent opened the list of commands", "智能体打开了命令列表"),
    ("the agent opened the list of keys", "智能体打开了快捷键列表"),
    ("the agent folded all cards", "智能体折叠了所有卡片"),
    ("the agent unfolded all cards", "智能体展开了所有卡片"),
    ("the agent scrolled to the beginning", "智能体滚动到了开头"),
    ("the agent scrolled to the end", "智能体滚动到了末尾"),
    (
        "the agent wrote into the input; nothing is sent before you press Enter",
        "智能体在输入框中写入了文字；按 Enter 前不会发送",
    ),
    // The server.
    (
        "{}; log in again with `sandbridge login` in another terminal, and this one goes on",
        "{0*}；请在另一个终端用 `sandbridge login` 重新登录，此处会自动继续",
    ),
    (
        "The `sandbridge here` that this chat joined has ended. Ctrl+D quits; to start it again: sandbridge here {}",
        "此会话所加入的 `sandbridge here` 已结束。按 Ctrl+D 退出；重新启动：sandbridge here {0}",
    ),
    ("cannot reach the server at {}: {}; {}", "无法连接服务器 {0}：{1*}；{2}"),
    (
        "is it running, and is --server (or SANDBRIDGE_SERVER) right?",
        "它在运行吗？--server（或 SANDBRIDGE_SERVER）是否正确？",
    ),
    (
        "the server does not speak HTTP there; should the URL begin with https:// instead of http://?",
        "该地址不使用 HTTP；是否应将 http:// 改为 https://？",
    ),
    (
        "the server does not speak TLS there; should the URL begin with http:// instead of https://?",
        "该地址不使用 TLS；是否应将 https:// 改为 http://？",
    ),
    (
        "its certificate has expired; renew it, or set this machine's clock",
        "证书已过期；请更新证书，或校准本机时钟",
    ),
    (
        "its certificate is for another host; use the name in it with --server",
        "证书属于另一个主机；请在 --server 中使用证书中的名称",
    ),
    (
        "its certificate is not trusted here; does the file in --ca-cert (or SANDBRIDGE_CA_CERT) hold the certificate of its authority?",
        "证书不受信任；--ca-cert（或 SANDBRIDGE_CA_CERT）中的文件是其证书颁发机构的证书吗？",
    ),
    (
        "its certificate is not trusted here; give the certificate of its authority with --ca-cert FILE (or SANDBRIDGE_CA_CERT)",
        "证书不受信任；请用 --ca-cert FILE（或 SANDBRIDGE_CA_CERT）指定其证书颁发机构的证书",
    ),
    (
        "are --server (or SANDBRIDGE_SERVER) and the server's certificate right?",
        "--server（或 SANDBRIDGE_SERVER）和服务器的证书是否正确？",
    ),
    ("the server did not respond within {} s; try again", "服务器在 {0} 秒内没有响应；请重试"),
    ("the connection to the server broke: {}", "与服务器的连接已断开：{0}"),
    ("the server's response is too large", "服务器的响应过大"),
    (
        "the server's response cannot be parsed; are client and server the same version?",
        "无法解析服务器的响应；客户端与服务器的版本是否一致？",
    ),
    (
        "this server is not a Sandbridge server; is --server (or SANDBRIDGE_SERVER) right?",
        "该服务器不是 Sandbridge；--server（或 SANDBRIDGE_SERVER）是否正确？",
    ),
    ("the server refused: {}", "服务器拒绝了请求：{0}"),
    // Lists.
    ("Commands", "命令"),
    ("Enter chooses · Esc closes", "Enter 选择 · Esc 关闭"),
    ("Chats", "会话"),
    (
        "Enter opens · Ctrl+N new · Ctrl+E rename · Ctrl+F fork · Ctrl+D delete",
        "Enter 打开 · Ctrl+N 新建 · Ctrl+E 重命名 · Ctrl+F 创建副本 · Ctrl+D 删除",
    ),
    ("open", "当前会话"),
    ("just now", "刚刚"),
    ("{} s ago", "{0} 秒前"),
    ("{} min ago", "{0} 分钟前"),
    ("{} h ago", "{0} 小时前"),
    ("{} days ago", "{0} 天前"),
    ("Where commands run", "命令在何处运行"),
    ("Approval mode of this chat", "此会话的审批模式"),
    ("Model of this chat", "此会话的模型"),
    ("  nothing matches", "  没有结果"),
    ("Open chat", "打开会话"),
    ("Ctrl+O: list, search, rename, fork, delete", "Ctrl+O：列出、搜索、重命名、创建副本、删除"),
    ("Switch runner", "切换运行器"),
    ("Ctrl+R: where commands run", "Ctrl+R：命令在何处运行"),
    ("Change approval mode", "更改审批模式"),
    ("which actions run without asking", "哪些操作无需询问"),
    ("Choose model", "选择模型"),
    ("the model that answers in this chat", "此会话使用的模型"),
    ("Undo", "撤回"),
    ("take back the last message, and restore the files it changed", "撤回上一条消息，并恢复它更改的文件"),
    ("Undo by force", "强制撤回"),
    ("even where the files have changed since", "即使文件之后又有更改"),
    ("Cancel what is running", "取消运行中的命令和回答"),
    ("Rename chat", "重命名会话"),
    ("Fork chat", "创建会话副本"),
    ("go on with a copy of it", "在副本中继续"),
    ("Delete chat", "删除会话"),
    ("Cards", "卡片"),
    ("Tab: choose, fold and unfold", "Tab：选择、折叠和展开"),
    ("Unfold or fold all cards", "展开或折叠所有卡片"),
    ("Help", "帮助"),
    ("F1: all keys", "F1：所有快捷键"),
    ("Quit", "退出"),
    ("active · {}", "当前 · {0*}"),
    ("online · {}", "在线 · {0}"),
    ("offline · {}", "离线 · {0}"),
    ("Automatic", "自动"),
    (
        "your only runner; without a runner, the Docker container if the server offers one",
        "你唯一的运行器；没有运行器时使用服务器提供的 Docker 容器",
    ),
    ("looks, and changes nothing", "只查看，不做更改"),
    ("asks before it changes a file or runs a command", "更改文件或运行命令前询问"),
    ("asks before it runs a command", "运行命令前询问"),
    (
        "asks about settings or the privileged user, or if a rule or hook asks",
        "仅在更改设置、以特权用户身份运行命令，或有规则或钩子要求询问时询问",
    ),
    ("Default", "默认"),
    ("the model for chats that have none of their own", "用于没有单独指定模型的会话"),
    // Groups.
    ("Groups", "群组"),
    ("Ctrl+G: people and agents in one log", "Ctrl+G：人和智能体共用一份消息记录"),
    (
        "you are in no group; `sandbridge group create TITLE` creates one",
        "你不在任何群组中；可用 `sandbridge group create 名称` 创建",
    ),
    ("you are not in this group any more", "你已不在此群组中"),
    ("you may only read this group", "你在此群组中只能查看"),
    (" Enter answers · Esc goes back ", " Enter 回答 · Esc 返回 "),
    (" Esc goes back to the text ", " Esc 返回输入 "),
    (
        " Enter sends · Tab completes @ · PgUp, PgDn scroll · Esc closes ",
        " Enter 发送 · Tab 补全 @ · PgUp/PgDn 滚动 · Esc 关闭 ",
    ),
    ("There are no messages yet. @ asks an agent.", "这里还没有消息。用 @ 询问智能体。"),
    ("▸ @{} works on {} for {}", "▸ @{0} 正在 {1} 上为 {2} 工作"),
    ("… @{} is queued for {}", "… @{0} 排队等待回答 {1}"),
    ("… {} more", "… 还有 {0} 项"),
    ("{}, run {}: ", "{0} 的运行 #{1}："),
    ("the answer is being sent", "正在发送回答"),
    ("Write the new output:", "替换后的输出："),
    ("Write what to change:", "需要修改的内容："),
    ("approve", "批准"),
    ("edit the output", "修改输出"),
    ("do it again", "重做"),
    ("use the budget once more", "再追加同样的预算"),
    ("stop the run", "停止运行"),
    (
        "the groups; in one: Tab completes a handle, or answers a gate",
        "群组列表；在群组中：Tab 补全名称，或处理人工确认",
    ),
    // Questions of this program itself.
    (" Sure? ", " 确定吗？ "),
    ("y, Enter or Ctrl+C: yes   n, Esc: no", "y、Enter 或 Ctrl+C：是   n、Esc：否"),
    ("y: yes   n, Esc: no", "y：是   n、Esc：否"),
    ("Quit?", "退出？"),
    (
        "Quit? Running commands go on, unless quitting ends `sandbridge here`.",
        "退出？正在运行的命令会继续运行，除非 `sandbridge here` 会随退出而结束。",
    ),
    ("Quit? Your unsent text will be lost.", "退出？尚未发送的内容将丢失。"),
    (
        "Quit? Running commands go on, unless quitting ends `sandbridge here`. Your unsent text will be lost.",
        "退出？正在运行的命令会继续运行，除非 `sandbridge here` 会随退出而结束。尚未发送的内容将丢失。",
    ),
    (
        "Undo, and restore files even where they have changed since?",
        "即使文件之后又有更改，也要撤回并恢复文件吗？",
    ),
    ("Restore the files anyway?", "仍要恢复文件吗？"),
    ("Delete the chat “{}”, with all that is in it?", "删除会话“{0}”及其全部内容？"),
    (" Title ", " 标题 "),
    (" Enter renames · Esc closes ", " Enter 重命名 · Esc 关闭 "),
    // Keys.
    (" Keys ", " 快捷键 "),
    (" Up, Down, PgUp, PgDn scroll · any other key closes ", " ↑/↓、PgUp/PgDn 滚动 · 按任意其他键关闭 "),
    ("send", "发送"),
    ("a new line", "换行"),
    ("delete a word, the line before the cursor; undo", "删除一个词、删到行首；撤销"),
    ("earlier messages; choose a completion", "之前发送的内容；选择补全"),
    ("complete; else go to the question, the cards, the text", "补全；否则依次切换到问题、卡片、输入"),
    ("close; cancel what is running", "关闭；取消运行中的命令和回答"),
    ("cancel what is running; else quit (asks first)", "取消运行中的命令和回答；否则退出（会先确认）"),
    ("quit, if the input is empty", "退出（没有输入内容时）"),
    ("all commands", "所有命令"),
    ("a new chat", "新建会话"),
    ("the chats", "会话列表"),
    ("where commands run", "命令在何处运行"),
    ("scroll", "滚动"),
    ("the first message, the last one", "第一条消息、最后一条消息"),
    ("redraw the screen; reconnect now", "重新绘制；立即重新连接服务器"),
    ("an approval: allow once, allow always, deny", "审批：允许一次、始终允许、拒绝"),
    ("a question: choose an answer; or write your own", "问题：选择答案，或自行填写"),
    ("cards: choose, fold and unfold", "卡片：选择、折叠和展开"),
    ("run a command; /help lists the slash commands", "运行命令；/help 列出斜杠命令"),
    ("select text with the mouse, in most terminals", "用鼠标选择文字（多数终端）"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_the_language_and_the_strongest_variable_counts() {
        let of = |set: &[(&str, &str)]| {
            language(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(of(&[]), Language::English);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8")]), Language::Chinese);
        assert_eq!(of(&[("LANG", "zh_CN.UTF-8"), ("LC_MESSAGES", "en_GB.UTF-8")]), Language::English);
        assert_eq!(of(&[("LC_ALL", ""), ("LC_MESSAGES", "zh_TW"), ("LANG", "C")]), Language::Chinese);
    }

    #[test]
    fn the_chats_and_the_banner_are_translated_with_what_they_name() {
        let say = |text: &str| say(Language::Chinese, text);
        assert_eq!(["open", "just now", "3 min ago"].map(say), ["当前会话", "刚刚", "3 分钟前"]);
        assert_eq!(say("on the Docker container"), "位置：Docker 容器");
        let why = "cannot reach the server at http://a:1: refused; is it running, and is --server (or SANDBRIDGE_SERVER) right?";
        let lost = say(&format!(" Not connected, trying again in 3 s: {why} "));
        assert_eq!(
            lost,
            " 未连接，3 秒后重试：无法连接服务器 http://a:1：refused；它在运行吗？--server（或 SANDBRIDGE_SERVER）是否正确？ "
        );
        let ended = say(
            "you are out; log in again with `sandbridge login` in another terminal, and this one goes on",
        );
        assert_eq!(ended, "you are out；请在另一个终端用 `sandbridge login` 重新登录，此处会自动继续");
    }

    #[test]
    fn every_row_is_of_a_text_of_the_screen_and_names_its_words() {
        let mut sources = String::new();
        for file in [
            include_str!("view/mod.rs"),
            include_str!("view/overlay.rs"),
            include_str!("view/bars.rs"),
            include_str!("view/cards.rs"),
            include_str!("view/asking.rs"),
            include_str!("view/messages.rs"),
            include_str!("view/group.rs"),
            include_str!("update/group.rs"),
            include_str!("update/mod.rs"),
            include_str!("update/overlay.rs"),
            include_str!("update/keys.rs"),
            include_str!("update/control.rs"),
            include_str!("update/asking.rs"),
            include_str!("update/done.rs"),
            include_str!("places.rs"),
            include_str!("server.rs"),
            include_str!("../output.rs"),
            include_str!("../http.rs"),
            include_str!("../endpoint.rs"),
            include_str!("../session.rs"),
            include_str!("../../../api/src/words.rs"),
        ] {
            sources.push_str(file);
        }
        for (english, other) in CHINESE {
            for (at, piece) in english.split("{}").enumerate() {
                let is_there = |star| other.contains(&format!("{{{}{star}}}", at - 1));
                assert!(at == 0 || is_there("") || is_there("*"), "{english}");
                // A text composed of several is found by its parts.
                for part in piece.split([' ', ':']).filter(|part| part.len() > 3) {
                    assert!(
                        sources.contains(part),
                        "the screen has no text with {part:?}, a part of {english:?}"
                    );
                }
            }
            assert_eq!(&say(Language::English, english), english);
        }
    }
}
