//! The official client `dingtalk-stream` with the stand-in for DingTalk.

use std::time::Duration;

use serde_json::json;
use tests::eventually;
use tests::platforms::client::Client;
use tests::platforms::dingtalk::{CLIENT_ID, DingTalk, SECRET};

#[test]
fn the_official_client_of_dingtalk_accepts_the_stand_in() {
    let stand_in = DingTalk::start();
    let endpoint = stand_in.url();
    let environment = [("DINGTALK_OPENAPI_ENDPOINT", endpoint.as_str())];
    let mut client = Client::python("dingtalk-stream", "dingtalk.py", &[CLIENT_ID, SECRET], &environment);
    let connected = || (stand_in.connections() == 1).then_some(());
    eventually("it is connected", Duration::from_secs(60), connected);
    let id = stand_in.say("staff1", Some("cid1"), "hello");
    assert_eq!(client.line("got"), json!({"got": ["hello"], "user": "staff1", "kind": "2", "id": id}));
    assert_eq!(client.line("text")["text"]["errcode"], 0);
    assert_eq!(client.line("markdown")["markdown"]["errcode"], 0);
    assert_eq!(client.line("long")["long"]["errcode"], 460_101);
    let acknowledged = |wanted: usize| {
        eventually("it is acknowledged", Duration::from_secs(10), || {
            (stand_in.acknowledged() == wanted).then_some(())
        })
    };
    acknowledged(1);
    assert_eq!(
        stand_in.said().iter().map(|said| said.content.clone()).collect::<Vec<_>>(),
        [json!("echo"), json!("**echo**")]
    );
    stand_in.add_file("code1", b"picture", None);
    let mut picture = stand_in.event("staff1", None, "");
    picture["msgtype"] = json!("picture");
    picture["content"] = json!({"downloadCode": "code1", "pictureDownloadCode": "code1"});
    stand_in.deliver(&picture);
    assert!(client.line("url")["url"].as_str().unwrap().ends_with("/files/code1"));
    acknowledged(2);
    stand_in.system("ping");
    eventually("the ping is answered", Duration::from_secs(10), || (stand_in.pongs() == 1).then_some(()));
    stand_in.system("disconnect");
    let again = || (stand_in.opened() == 2 && stand_in.connections() == 1).then_some(());
    eventually("it is connected again", Duration::from_secs(60), again);
    stand_in.say("staff1", None, "after");
    assert_eq!(client.line("got")["got"], json!(["after"]));
}
