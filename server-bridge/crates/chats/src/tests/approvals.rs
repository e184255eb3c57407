//! A model's actions that need permission, and its questions.

use agent::approval::{Answer, Mode};
use agent::ask::Reply as Reply_;
use serde_json::{Value, json};
use tests::{Page, Pages, Reply, ScriptedModel};

use super::talk::answered_by;
use super::*;
use crate::Surface;
use crate::models::Provider;
use tools::internet::Fetcher;

/// A model that makes these calls, all at once, and then answers `done`.
fn calls(calls: Vec<(&'static str, Value)>) -> ScriptedModel {
    ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(calls.clone()),
        _ => Reply::Say("done".to_owned()),
    })
}

/// The tool results in the model's last request.
fn results(model: &ScriptedModel) -> Vec<String> {
    model.asked().pop().unwrap().results()
}

/// A model that changes a file and runs a command, then does the same again, then runs another command.
fn works() -> ScriptedModel {
    let run = |word: &str| ("Shell", json!({"command": format!("append:log:{word}")}));
    ScriptedModel::start(move |asked| match asked.results().len() {
        0 => Reply::Call(vec![
            ("Read", json!({"path": "AGENTS.md"})),
            ("FileCreate", json!({"path": "new", "content": "x"})),
            run("ran"),
        ]),
        3 => Reply::Call(vec![run("ran")]),
        4 => Reply::Call(vec![run("other")]),
        _ => Reply::Say("done".to_owned()),
    })
}

#[tokio::test]
async fn a_model_asks_before_it_changes_or_runs_something() {
    let model = works();
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    runner.files.write("AGENTS.md", "Shell scripts are POSIX.");
    let talk = bench.talk(Mode::Ask).await;
    let work = talk.post("work").await.messages[1].id;
    let file = talk.asking("new").await;
    let (eve, message) = (bench.somebody("eve").await, MessageId(file["id"].as_i64().unwrap()));
    let reply = Reply_::Approval(Answer::Allow);
    let hers = talk.service.answer(&eve, &talk.id, message, reply, Surface("page")).await.unwrap_err();
    assert_eq!(hers.kind(), "not_found", "nobody else may answer");
    assert_eq!(runner.files.content("new"), None, "nothing is done before the answer");
    assert!(runner.started.try_recv().is_err(), "one after the other");
    assert_eq!(talk.approve(&file, Answer::Deny).await, None);
    assert_eq!(talk.approve(&file, Answer::Allow).await, Some("conflict"), "the first answer counts");
    let first = talk.asking("append:log:ran").await;
    assert_eq!(runner.files.content("log"), None);
    assert_eq!(talk.approve(&first, Answer::AllowForGood).await, None);
    // The same command needs no second approval; another one does.
    let other = talk.asking("append:log:other").await;
    assert_eq!(runner.files.content("log").unwrap(), "ranran");
    assert_eq!(talk.approve(&other, Answer::Deny).await, None);
    assert_eq!(talk.ended(work).await["agent"]["status"], "done");
    assert_eq!(runner.files.content("new"), None);
    assert_eq!(runner.files.content("log").unwrap(), "ranran");
    let results = results(&model);
    assert!(results[0].contains("POSIX") && results[1].contains("does not allow"), "{results:?}");
    assert!(results[4].contains("does not allow"), "{results:?}");
    // The one call that was allowed for good is listed, with the words that its user agreed to, and only that user can revoke it.
    let (ada, service) = (&bench.user, &talk.service);
    let rules = service.approval_rules(ada.id).await.unwrap();
    assert_eq!(rules.len(), 1, "{rules:?}");
    assert_eq!((rules[0].tool.as_str(), &rules[0].chat_id), ("Shell", &talk.id));
    assert!(
        rules[0].subject.contains("append:log:ran") && rules[0].scope.contains("this exact command"),
        "{rules:?}"
    );
    assert!(service.approval_rules(eve.id).await.unwrap().is_empty());
    let hers = service.revoke_approval_rule(&eve, rules[0].id).await.unwrap_err();
    assert_eq!(hers.kind(), "not_found");
    service.revoke_approval_rule(ada, rules[0].id).await.unwrap();
    assert!(service.approval_rules(ada.id).await.unwrap().is_empty());
    assert!(!bench.store.is_allowed(ada.id, &talk.id, "Shell", &rules[0].subject).await.unwrap());
}

#[tokio::test]
async fn in_plan_mode_nobody_is_asked_and_files_stay_as_they_are_whatever_a_command_tries() {
    let model = works();
    let bench = Bench::played(&model).await;
    let mut runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Plan).await;
    assert_eq!(talk.say("work").await["agent"]["status"], "done");
    assert_eq!(runner.started.recv().await.unwrap(), "append:log:ran", "it may look");
    assert_eq!((runner.files.content("new"), runner.files.content("log")), (None, None));
    let results = results(&model);
    assert!(results[1].contains("plan mode"), "{results:?}");
    // Enforcing the read-only profile is the runner's task.
    assert!(results[2].contains("the workspace is read-only"), "{results:?}");
}

#[tokio::test]
async fn settings_are_changed_only_where_the_user_says_so_and_never_to_allow_more() {
    let set = |key: &str, value: &str| ("config", json!({"action": "set", "key": key, "value": value}));
    let model = calls(vec![
        set("language", "German"),
        set("active_runner", "other"),
        set("active_runner", "nowhere"),
        set("new_chats_approval", "full"),
        set("new_chats_approval", "plan"),
        set("model", "nowhere/swift"),
        set("approval", "plan"),
        set("approval", "full"),
        set("password", "x"),
    ]);
    let bench = Bench::played(&model).await;
    let _laptop = bench.connect("laptop").await;
    bench.store.add_runner(bench.user.id, &RunnerName::parse("other").unwrap()).await.unwrap();
    bench.store.set_active_runner(bench.user.id, Some("laptop")).await.unwrap();
    let active = async || bench.store.active_runner(bench.user.id).await.unwrap().unwrap();
    // This is asked even in a mode that asks for nothing else.
    let talk = bench.talk(Mode::Full).await;
    let work = talk.post("set").await.messages[1].id;
    for (key, value) in [
        ("language", "German"),
        ("active_runner", "other"),
        ("active_runner", "nowhere"),
        ("new_chats_approval", "full"),
        ("new_chats_approval", "plan"),
        ("model", "nowhere/swift"),
        ("approval", "plan"),
    ] {
        let asks = |message: &&Value| {
            let parts = &message["agent"]["approval"]["parts"];
            message["agent"]["status"] == "asking" && parts[0]["text"] == key && parts[1]["text"] == value
        };
        let card = talk.sees(value, |messages| messages.iter().find(asks).cloned()).await;
        assert_eq!(card["agent"]["data"], json!({"kind": "once"}));
        if value == "other" {
            assert_eq!(active().await, "laptop", "not before the answer");
        }
        assert_eq!(talk.approve(&card, Answer::AllowForGood).await, None);
    }
    // In the chat's new mode, `plan`, the last two calls are denied.
    assert_eq!(talk.ended(work).await["agent"]["status"], "done");
    let results = results(&model);
    assert!(results[1].contains("nothing would run there now"), "{results:?}");
    assert!(results[2].contains("no runner \"nowhere\""), "{results:?}");
    assert!(results[3].contains("only the user can let you do more"), "{results:?}");
    assert!(results[4].starts_with("new_chats_approval is plan now"), "{results:?}");
    assert!(results[5].contains("nowhere"), "{results:?}");
    assert_eq!(bench.store.setting(bench.user.id, store::APPROVAL).await.unwrap().as_deref(), Some("plan"));
    assert!(results[7..].iter().all(|result| result.contains("plan mode")), "{results:?}");
    assert_eq!(active().await, "other");
    bench.store.set_active_runner(bench.user.id, Some("laptop")).await.unwrap();
    talk.say("go on").await;
    assert!(model.asked().pop().unwrap().raw.contains("Answer in German, whatever language"));
}

#[tokio::test]
async fn a_card_speaks_its_users_language_and_keeps_what_the_model_wrote() {
    let model = calls(vec![("FileCreate", json!({"path": "new", "content": "running"}))]);
    let bench = Bench::played(&model).await;
    let _runner = bench.connect("laptop").await;
    let talk = bench.talk(Mode::Ask).await;
    talk.service.speaks(bench.user.id, api::language::Language::Chinese);
    let work = talk.post("work").await.messages[1].id;
    let card = talk.asking("new").await;
    let approval = &card["agent"]["approval"];
    assert_eq!(approval["effect"], "新建 1 行的文件");
    assert_eq!(approval["parts"][0]["label"], "内容");
    assert_eq!(approval["parts"][0]["text"], "running");
    assert!(approval["always"].as_str().unwrap().starts_with("此会话中对 laptop 上文件"), "{approval}");
    let detail = card["agent"]["detail"].as_str().unwrap();
    assert!(detail.contains("\n机器：laptop\n") && detail.contains("\n内容:\n  | running\n"), "{detail}");
    assert_eq!(talk.approve(&card, Answer::Deny).await, None);
    talk.ended(work).await;
    let denied = talk.sees("denied", |messages| {
        messages.iter().find(|message| message["agent"]["status"] == "denied").cloned()
    });
    assert!(denied.await["text"].as_str().unwrap().starts_with("用户拒绝了此操作。请勿"));
    assert!(results(&model)[0].contains("does not allow"), "the model reads English");
}

#[tokio::test]
async fn the_internet_is_asked_for_only_where_it_is_set_up_and_allowed() {
    let pages = Pages::start(|path| match path {
        "/page" => Page::Is("text/html", b"<title>Doors</title><p>red".to_vec()),
        "/moved" => Page::Moved("page".to_owned()),
        _ => Page::Status(404),
    });
    let port = pages.port();
    let fetch = |host: &str, path: &str| ("Fetch", json!({"url": format!("http://{host}:{port}{path}")}));
    let model = calls(vec![
        fetch("localhost", "/page"),
        fetch("localhost", "/moved"),
        fetch("127.0.0.1", "/page"),
        ("WebSearch", json!({"query": "x"})),
    ]);
    let allowed = ["localhost", "127.0.0.1"].map(str::to_owned);
    let internet = Internet { fetch: Some(Fetcher::new(&allowed)), search: None };
    let (store, models) = (Store::open_in_memory().await.unwrap(), answered_by(&model, Provider::OpenAi));
    let bench = Bench::with_internet(store, models, internet).await;
    let talk = bench.talk(Mode::Ask).await;
    let work = talk.post("read").await.messages[1].id;
    let card = talk.asking("localhost").await;
    let approval = &card["agent"]["approval"];
    assert_eq!(approval["parts"][0]["text"], format!("http://localhost:{port}/page"));
    assert_eq!(approval["always"], format!("pages of http://localhost:{port}, in this chat"));
    assert!(pages.asked().is_empty(), "nothing is asked before the answer");
    assert_eq!(talk.approve(&card, Answer::AllowForGood).await, None);
    // The same host needs no second approval; another one does.
    let card = talk.asking("127.0.0.1").await;
    assert_eq!(pages.asked().len(), 3);
    assert_eq!(talk.approve(&card, Answer::Deny).await, None);
    talk.ended(work).await;
    let last = model.asked().pop().unwrap();
    let results = last.results();
    assert!(results[0].contains("Doors") && results[1].contains("Doors"), "{results:?}");
    assert!(results[2].contains("does not allow") && results[3].contains("there is no tool"), "{results:?}");
    assert!(last.tools().contains(&"Fetch".to_owned()) && !last.raw.contains("Searches the internet"));
    assert_eq!(pages.asked().len(), 3);
}

#[tokio::test]
async fn a_question_is_answered_once_by_its_own_user_or_withdrawn() {
    let question = json!({"question": "Which door?", "options": ["red", "blue"]});
    let model = ScriptedModel::start(move |asked| match asked.last_of_user().as_str() {
        "thanks" => Reply::Say("bye".to_owned()),
        _ => match asked.results().pop() {
            None => Reply::Call(vec![("AskUser", question.clone())]),
            Some(result) => Reply::Say(format!("so: {result}")),
        },
    });
    let bench = Bench::played(&model).await;
    let eve = bench.somebody("eve").await;
    let (talk, hers) = (bench.talk(Mode::Ask).await, bench.talk_of(&eve).await);
    let words = |text: &str| Reply_::Words(Some(text.to_owned()));
    let work = talk.post("open it").await.messages[1].id;
    let card = talk.asking("Which door?").await;
    assert_eq!(card["agent"]["detail"], "Which door?");
    assert_eq!(card["agent"]["data"], json!({"kind": "question", "options": ["red", "blue"]}));
    let message = MessageId(card["id"].as_i64().unwrap());
    for chat in [&talk.id, &hers.id] {
        let refused = talk.service.answer(&eve, chat, message, words("mine"), Surface("page")).await;
        assert_eq!(refused.unwrap_err().kind(), "not_found", "nobody else may answer");
    }
    assert_eq!(talk.approve(&card, Answer::Allow).await, Some("not_found"), "no approval");
    assert_eq!(talk.answer(&card, words(&"x".repeat(64 * 1024 + 1))).await, Some("invalid"));
    assert_eq!(talk.answer(&card, words("green")).await, None);
    assert_eq!(talk.answer(&card, words("red")).await, Some("conflict"));
    assert_eq!(talk.ended(work).await["text"], "");
    assert_eq!(results(&model), ["green"]);
    assert_eq!(talk.messages().await.pop().unwrap()["text"], "so: green");
    // A turn that is cancelled while it asks ends.
    let talk = bench.other_talk().await;
    let work = talk.post("open it").await.messages[1].id;
    let card = talk.asking("Which door?").await;
    assert_eq!(talk.service.cancel(talk.user.id, &talk.id).await.unwrap(), 1);
    assert_eq!(talk.ended(work).await["agent"]["status"], "cancelled");
    assert_eq!(talk.answer(&card, words("red")).await, Some("not_found"));
    let shown = talk.messages().await.into_iter().find(|message| message["id"] == card["id"]).unwrap();
    assert_eq!((&shown["agent"]["status"], &shown["agent"]["data"]), (&json!("cancelled"), &Value::Null));
    assert_eq!(talk.say("thanks").await["text"], "bye");
}
