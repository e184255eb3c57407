//! Texts are written in the language that a request asks for.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{TestServer, json};

const MISSING: &str = "/chats/00000000000000000000000000000000";

#[tokio::test]
async fn errors_are_in_the_language_that_the_request_asks_for() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let message = async |language: Option<&str>| {
        let mut request = alice.request(Method::PUT, MISSING).json(&json!({"title": "x"}));
        if let Some(language) = language {
            request = request.header("accept-language", language);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status().as_u16(), 404);
        let length: usize = response.headers()["content-length"].to_str().unwrap().parse().unwrap();
        let body = response.bytes().await.unwrap();
        assert_eq!(body.len(), length);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(
            body["error"]["kind"], "not_found",
            "identifiers that programs match on are never translated"
        );
        body["error"]["message"].as_str().unwrap().to_owned()
    };
    let english = message(None).await;
    assert!(english.is_ascii());
    assert_eq!(message(Some("fr, en;q=0.5")).await, english);
    let chinese = message(Some("zh-CN,zh;q=0.9,en;q=0.8")).await;
    assert!(chinese.contains("会话"), "{chinese}");
    let anonymous = reqwest::Client::new().get(server.url("/api/v1/chats")).header("accept-language", "zh");
    let answer = json(anonymous.send().await.unwrap()).await;
    assert_eq!(answer["error"]["message"], "你尚未登录，或登录已过期；请重新登录");
    server.stop().await;
}

#[tokio::test]
async fn slash_commands_and_their_answers_are_in_the_writers_language() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let zh = |method, path: &str| alice.request(method, path).header("accept-language", "zh");
    let commands = json(zh(Method::GET, "/commands").send().await.unwrap()).await;
    let new = commands.as_array().unwrap().iter().find(|command| command["word"] == "new").unwrap();
    assert_eq!(new["about"], "新建会话");
    let chat = json(zh(Method::POST, "/chats").send().await.unwrap()).await;
    let messages = format!("/chats/{}/messages", chat["id"].as_str().unwrap());
    let said =
        json(zh(Method::POST, &messages).json(&json!({"text": "/cancel"})).send().await.unwrap()).await;
    assert_eq!(said["messages"][1]["text"], "此会话中没有正在运行的命令或回答。");
    let settings = json(zh(Method::GET, "/settings").send().await.unwrap()).await;
    let notes: Vec<&str> =
        settings["choices"].as_array().unwrap().iter().filter_map(|choice| choice["note"].as_str()).collect();
    assert!(notes.iter().any(|note| note.contains("本服务器未启用 Docker")), "{settings}");
    server.stop().await;
}

#[tokio::test]
async fn documents_are_translated_and_the_names_in_them_are_not() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let zh = |method, path: &str| alice.request(method, path).header("accept-language", "zh");
    let hooks =
        json!({"hooks": {"Nope": [], "PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}});
    let document = json!({"text": hooks.to_string()});
    let text = "未知的事件 \"Nope\"：不会使用其钩子";
    let problem = json!({"origin": "你的钩子", "place": "hooks.Nope", "text": text});
    // The change runs in a separate task, which keeps the language of the request.
    let put = json(zh(Method::PUT, "/hooks/document").json(&document).send().await.unwrap()).await;
    assert_eq!(put["problems"][0], problem, "{put}");
    let shown = json(zh(Method::GET, "/hooks").send().await.unwrap()).await;
    assert_eq!(shown["problems"][0], problem, "{shown}");
    let away = shown["problems"][1]["text"].as_str().unwrap();
    assert!(away.starts_with("未列出工作区的钩子：") && !away.contains("connected"), "{shown}");
    assert_eq!(shown["hooks"][0]["origin"], "你的钩子", "{shown}");
    assert_eq!(shown["hooks"][0]["event"], "PreToolUse", "{shown}");
    let english = json(alice.request(Method::GET, "/hooks").send().await.unwrap()).await;
    let text = "\"Nope\" is not a known event: its hooks are not used";
    let problem = json!({"origin": "your hooks", "place": "hooks.Nope", "text": text});
    assert_eq!(english["problems"][0], problem, "{english}");
    // The stored text is not translated: each client reads it in its own language.
    let stored = json(zh(Method::GET, "/hooks/document").send().await.unwrap()).await;
    assert_eq!(stored["text"], hooks.to_string());
    server.stop().await;
}

#[tokio::test]
async fn each_line_of_an_error_is_in_the_language_that_the_request_asks_for() {
    let server = TestServer::start().await;
    let alice = server.user("alice").await;
    let document = json!({"text": json!({"hooks": {"PreToolUse": 7, "Stop": {}}}).to_string()});
    let put = alice.request(Method::PUT, "/hooks/document").header("accept-language", "zh").json(&document);
    let refused = json(put.send().await.unwrap()).await;
    let lines = "文档无效：hooks.PreToolUse：事件的钩子组必须是列表\nhooks.Stop：事件的钩子组必须是列表";
    assert_eq!(refused["error"]["message"], lines);
    server.stop().await;
}
