//! The official client `@larksuiteoapi/node-sdk` with the stand-in for Feishu.

use std::time::Duration;

use serde_json::json;
use tests::eventually;
use tests::platforms::client::Client;
use tests::platforms::feishu::{APP_ID, APP_SECRET, Feishu};

#[test]
fn the_official_client_of_feishu_accepts_the_stand_in() {
    let stand_in = Feishu::start();
    let mut client = Client::node("feishu.mjs", &[&stand_in.url(), APP_ID, APP_SECRET]);
    client.line("ready");
    let id = stand_in.say("ou_a", "oc_1", false, "hello");
    let got = client.line("got");
    assert_eq!(got, json!({"got": "hello", "from": "ou_a", "id": id}));
    let sent = client.line("sent");
    assert_eq!(sent["sent"], sent["again"], "one message for each idempotency key");
    client.line("replied");
    let files = client.line("file");
    assert_eq!(client.line("fetched")["fetched"], "contents");
    assert_eq!(client.line("bot")["bot"], "ou_bot");
    assert_eq!(client.line("refused")["refused"], 230_025);
    let cards = stand_in.cards();
    assert_eq!(cards.len(), 2, "{cards:?}");
    assert_eq!((&cards[0].content["body"]["elements"][0]["content"], cards[0].edits), (&json!("**two**"), 1));
    assert_eq!(cards[1].reply, Some((id, true)));
    assert_eq!(
        stand_in.file(files["file"].as_str().unwrap()).unwrap(),
        ("a.txt".to_owned(), b"contents".to_vec())
    );
    assert_eq!(stand_in.file(files["image"].as_str().unwrap()).unwrap().1, b"png");

    stand_in.press("ou_b", &cards[0], "Yes");
    assert_eq!(client.line("pressed"), json!({"pressed": "yes", "by": "ou_b"}));
    let answered = || stand_in.deliveries()[1].answer.clone();
    let (code, data) = eventually("the press is acknowledged", Duration::from_secs(10), answered);
    assert_eq!((code, &data["toast"]["content"]), (200, &json!("done")));

    let long = "名".repeat(5000);
    stand_in.deliver_in_fragments(stand_in.text_event("ou_a", "oc_1", false, &long), 5);
    assert_eq!(client.line("got")["got"], long.as_str());
    stand_in.cut();
    client.line("again");
    stand_in.refuse_connections(Some(514));
    stand_in.cut();
    assert!(client.line("failed")["failed"].as_str().unwrap().contains("514"));
}

#[test]
fn the_official_client_of_feishu_calls_the_stand_in_as_a_person() {
    let stand_in = Feishu::start();
    let stale = stand_in.token_of("ou_ann");
    stand_in.revoke_people(false);
    let token = stand_in.token_of("ou_ann");
    let arguments = [&stand_in.url(), APP_ID, APP_SECRET, &token, &stale];
    let mut client = Client::node("feishu_person.mjs", &arguments);
    let files = client.line("files");
    assert_eq!((&files["files"]["code"], &files["files"]["data"]["person"]), (&json!(0), &json!("ou_ann")));
    client.line("record");
    assert_eq!(client.line("refused")["refused"], 99_991_677);
    let calls = stand_in.calls_of_people();
    let wanted = [
        ("GET", "/open-apis/drive/v1/files?folder_token=f1&page_size=20"),
        ("POST", "/open-apis/bitable/v1/apps/bas%20c1/tables/tbl1/records"),
    ];
    let called: Vec<_> = calls.iter().map(|call| (call.method.as_str(), call.target.as_str())).collect();
    assert_eq!(called, wanted);
    assert_eq!(calls[1].body, json!({"fields": {"F": "x"}}));
}
