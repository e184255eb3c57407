//! The official client `qq-botpy` with the stand-in for QQ's platform for bots.

use std::time::Duration;

use serde_json::json;
use tests::eventually;
use tests::platforms::client::Client;
use tests::platforms::qq::{APP_ID, Qq, SECRET};

#[test]
fn the_official_client_of_qq_accepts_the_stand_in() {
    let stand_in = Qq::start();
    let mut client = Client::python("qq-botpy", "qq.py", &[&stand_in.url(), APP_ID, SECRET], &[]);
    assert_eq!(client.line("ready")["ready"], "Sandbridge");
    let id = stand_in.say("U1", None, "hello");
    assert_eq!(client.line("got"), json!({"got": "hello", "user": "U1", "id": id}));
    client.line("sent");
    assert!(client.line("refused")["refused"].as_str().unwrap().contains("double"));
    let media = client.line("media");
    assert_eq!(stand_in.upload(media["media"].as_str().unwrap()).unwrap(), b"picture");
    let said = stand_in.said();
    assert_eq!(
        (said.len(), said[0].to.as_str(), &said[0].body["content"]),
        (2, "/v2/users/U1", &json!("echo hello"))
    );

    let id = stand_in.say("M1", Some("G1"), " run it");
    assert_eq!(client.line("got"), json!({"got": " run it", "group": "G1", "user": "M1", "id": id}));
    client.line("sent");
    let press = stand_in.press("M1", Some("G1"), &stand_in.said().pop().unwrap(), "Yes");
    assert_eq!(client.line("pressed"), json!({"pressed": "yes", "by": "M1"}));
    eventually("the press is acknowledged", Duration::from_secs(10), || {
        (stand_in.answered() == [press.clone()]).then_some(())
    });

    stand_in.close(Some(4009));
    client.line("resumed");
    stand_in.say("U1", None, "after");
    assert_eq!(client.line("got")["got"], "after");
}
