//! The slash commands, and other messages.

use super::*;

#[tokio::test]
async fn what_is_said_is_stored_told_and_gives_the_chat_its_title() {
    let mut bench = Bench::new().await;
    let posted = bench.post("/help").await;
    assert_eq!(posted.messages[0].role, MessageRole::User);
    assert_eq!(posted.messages[1].role, MessageRole::Notice);
    assert!(posted.messages[1].text.contains("/runner NAME"));
    assert_eq!(bench.next_event().await, ChatEvent::Message(posted.messages[0].clone()));
    let ChatEvent::Chat(chat) = bench.next_event().await else { panic!("the chat's title is not told") };
    assert_eq!(chat.title, "/help");
    assert_eq!(bench.next_event().await, ChatEvent::Message(posted.messages[1].clone()));
    let (stored, _) = bench.store.messages(bench.user.id, &bench.chat.id, None, 10).await.unwrap();
    assert_eq!(stored, posted.messages);
}

#[tokio::test]
async fn an_unknown_command_is_answered_with_those_there_are() {
    let answer = Bench::new().await.ask("/frobnicate now").await;
    assert!(
        answer.text.contains("no command /frobnicate") && answer.text.contains("/cancel"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn a_plain_message_without_a_model_is_answered_with_how_to_set_one_up() {
    let bench = Bench::new().await;
    let posted = bench.post("//etc is what?").await;
    assert_eq!(posted.messages[0].text, "/etc is what?");
    for name in ["PROVIDER", "BASE_URL", "API_KEY", "MODEL"] {
        assert!(posted.messages[1].text.contains(&format!("SANDBRIDGE_LLM_{name}")));
    }
}

#[tokio::test]
async fn new_begins_a_chat_to_switch_to() {
    let bench = Bench::new().await;
    let chat = bench.post("/new").await.chat.unwrap();
    assert_ne!(chat.id, bench.chat.id);
    assert_eq!(bench.store.chats(bench.user.id, 10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn runner_lists_what_is_online_bound_and_active() {
    let bench = Bench::new().await;
    let _laptop = bench.connect("laptop").await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("work").unwrap()).await.unwrap();
    bench.store.set_active_runner(bench.user.id, Some("work")).await.unwrap();
    assert!(bench.ask("/runner laptop").await.text.contains("go to laptop now"));
    let text = bench.ask("/runner").await.text;
    assert!(text.contains("laptop      online  bound here"), "{text}");
    assert!(text.contains("work        offline  active"), "{text}");
    assert!(text.contains("__docker__  not available"), "{text}");
}

#[tokio::test]
async fn runner_binds_warns_and_unbinds() {
    let bench = Bench::new().await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("work").unwrap()).await.unwrap();
    let text = bench.ask("/runner work").await.text;
    assert!(text.contains("go to work now") && text.contains("runner work is offline"), "{text}");
    let bound = async || bench.store.chat(bench.user.id, &bench.chat.id).await.unwrap().runner;
    assert_eq!(bound().await.as_deref(), Some("work"));
    let text = bench.ask("/runner elsewhere").await.text;
    assert!(text.contains("no runner \"elsewhere\"") && text.contains("work"), "{text}");
    assert_eq!(bound().await.as_deref(), Some("work"), "an unknown name changes nothing");
    bench.ask("/runner auto").await;
    assert_eq!(bound().await, None);
}

#[tokio::test]
async fn what_breaks_a_rule_is_refused() {
    let bench = Bench::new().await;
    let refused =
        async |text: &str| bench.service.post(&bench.user, &bench.chat.id, text).await.unwrap_err().kind();
    assert_eq!(refused("  \n").await, "invalid");
    assert_eq!(refused(&"x".repeat(2 << 20)).await, "invalid");
    let stranger = bench.store.add_user(&Name::parse("eve").unwrap(), "correct horse", false).await.unwrap();
    let error = bench.service.post(&stranger, &bench.chat.id, "!pwd").await.unwrap_err();
    assert_eq!(error.kind(), "not_found");
    assert_eq!(bench.service.cancel(stranger.id, &bench.chat.id).await.unwrap_err().kind(), "not_found");
    bench.service.shutdown().await;
    assert_eq!(refused("/help").await, "unavailable");
}

#[tokio::test]
async fn nothing_is_taken_back_in_a_sub_agents_chat() {
    let bench = Bench::new().await;
    let parent = &bench.chat.id;
    let shown =
        bench.store.append_message(bench.user.id, parent, MessageRole::Assistant, "", None).await.unwrap();
    let new = store::NewSubAgent {
        parent,
        message: shown.id,
        role: None,
        instance: None,
        place: None,
        tools_json: "[]",
    };
    let agent = bench.store.create_sub_agent(bench.user.id, new).await.unwrap().chat;
    let turns = crate::Turns::Last(1);
    let wanted = crate::TakeBack { turns, files: true, force: false };
    let refused = bench.service.take_back(&bench.user, &agent, wanted).await.unwrap_err();
    assert_eq!(refused.kind(), "invalid", "{refused}");
}

#[tokio::test]
async fn a_user_reads_the_servers_notices_in_the_language_of_their_client() {
    let bench = Bench::new().await;
    bench.service.speaks(bench.user.id, api::language::Language::Chinese);
    let help = bench.ask("/help").await.text;
    assert!(help.contains("新建会话") && help.contains("/runner NAME") && help.contains("限时"), "{help}");
    assert_eq!(bench.ask("/cancel").await.text, "此会话中没有正在运行的命令或回答。");
    let unknown = bench.ask("/runner nowhere").await.text;
    assert!(unknown.starts_with("你没有运行器 \"nowhere\"。"), "{unknown}");
    let no_model = bench.ask("hello").await.text;
    assert!(!no_model.contains("the key") && no_model.ends_with("试试 !pwd 或 /help。"), "{no_model}");
    for (command, said) in [
        ("/undo what", "请输入 /undo 或"),
        ("/rewind what", "请输入 /rewind N"),
        ("/fork what", "请输入 /fork、"),
        ("/runner", "__docker__  不可用"),
        ("/usage", "请求数"),
    ] {
        let text = bench.ask(command).await.text;
        assert!(text.contains(said), "{text}");
    }
    bench.service.speaks(bench.user.id, api::language::Language::English);
    assert_eq!(bench.ask("/cancel").await.text, "Nothing is running in this chat.");
}

#[tokio::test]
async fn what_a_user_wrote_is_listed_as_it_is() {
    let bench = Bench::new().await;
    bench.service.speaks(bench.user.id, api::language::Language::Chinese);
    assert_eq!(bench.ask("/memory add Nothing is running in this chat.").await.text, "已记住，编号 #1。");
    assert_eq!(bench.ask("/memory").await.text, "- #1 semantic: \"Nothing is running in this chat.\"");
    assert!(bench.ask("/memory accept 1").await.text.contains("没有编号为 1 的提议"));
    assert!(bench.ask("/memory forget 2").await.text.contains("找不到记忆 2"));
    assert_eq!(bench.ask("/memory forget #1").await.text, "已忘记 #1。");
    assert_eq!(bench.ask("/memory").await.text, "尚未记住关于你的任何内容。");
}
