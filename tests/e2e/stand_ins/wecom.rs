//! The official client `@wecom/aibot-node-sdk` with the stand-in for WeCom's gateway for AI bots.

use std::time::Duration;

use serde_json::json;
use tests::eventually;
use tests::platforms::client::Client;
use tests::platforms::wecom::{AES_KEY, BOT_ID, ENCRYPTED, PLAIN, SECRET, WeCom};

#[test]
fn the_official_client_of_wecom_accepts_the_stand_in() {
    let stand_in = WeCom::start();
    let mut client = Client::node("wecom.mjs", &[&stand_in.url(), BOT_ID, SECRET]);
    client.line("ready");
    let id = stand_in.say("u1", Some("g1"), "hello");
    assert_eq!(client.line("got"), json!({"got": "hello", "user": "u1", "group": "g1", "id": id}));
    let media = client.line("media");
    let (announced, contents) = stand_in.upload(media["media"].as_str().unwrap()).unwrap();
    assert_eq!(
        (announced["md5"].as_str().unwrap(), &contents[..]),
        ("98bf7d8c15784f0a3d63204441e1e2aa", &b"contents"[..])
    );
    assert_eq!(client.line("refused")["refused"], 40_058);
    let said = stand_in.said();
    let kinds: Vec<&str> = said.iter().map(|said| said.body["msgtype"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["stream", "stream", "markdown", "template_card", "file"]);
    stand_in.press("u1", Some("g1"), &said[3].body["template_card"], "Yes");
    assert_eq!(client.line("pressed")["pressed"], "yes");
    client.line("updated");
    assert_eq!(stand_in.updates()[0]["main_title"]["title"], "Allowed");
    let mut picture = stand_in.event("u1", None, "");
    picture["msgtype"] = json!("image");
    picture["image"] = json!({"url": stand_in.add_file("p", &ENCRYPTED, None), "aeskey": AES_KEY});
    stand_in.deliver(&picture);
    assert_eq!(client.line("file")["file"].as_str().unwrap().as_bytes(), PLAIN);
    eventually("the client pings", Duration::from_secs(10), || (stand_in.pings() > 2).then_some(()));
    stand_in.cut();
    client.line("ended");
    client.line("ready");
    stand_in.say("u1", None, "after");
    assert_eq!(client.line("got")["got"], "after");
    stand_in.replace();
    assert!(client.line("ended")["ended"].as_str().unwrap().contains("New connection"));
    let mut wrong = Client::node("wecom.mjs", &[&stand_in.url(), BOT_ID, "planted-wrong"]);
    assert!(wrong.line("failed")["failed"].as_str().unwrap().contains("40001"));
}
