//! `nonebot-adapter-onebot`, in place of our own client, with the stand-in for NapCat.

use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use serde_json::json;
use tests::platforms::client::Client;
use tests::platforms::onebot::{OneBot, TOKEN};

/// The pause between messages; the stand-in refuses messages that follow each other faster.
const PAUSE: Duration = Duration::from_millis(500);

fn talk(stand_in: &OneBot, client: &mut Client) {
    assert_eq!(client.line("connected"), json!({"connected": "10001", "nickname": "Sandbridge"}));
    let event = stand_in.say(7, None, "hello");
    let id = &event["message_id"];
    let got = json!({"got": "hello", "user": 7, "group": 0, "to_me": true, "id": id});
    assert_eq!(client.line("got"), got);
    client.line("sent");
    let said = stand_in.said().pop().unwrap();
    assert_eq!((said.action.as_str(), said.to, said.text.as_str()), ("send_msg", 7, "echo hello"));
    thread::sleep(PAUSE);
    let at =
        json!([{"type": "at", "data": {"qq": "10001"}}, {"type": "text", "data": {"text": " segments"}}]);
    stand_in.deliver(&stand_in.event(8, Some(99), at));
    assert_eq!(client.line("got")["to_me"], true);
    client.line("sent");
    let said = stand_in.said().pop().unwrap();
    assert_eq!((said.to, said.text.as_str()), (99, "[CQ:at,qq=all]"));
    thread::sleep(PAUSE);
    stand_in.deliver(&stand_in.event(7, None, json!("a&#91;b[CQ:face,id=1]")));
    assert_eq!(client.line("got")["got"], "a[b");
    client.line("sent");
    thread::sleep(PAUSE);
    stand_in.say(7, None, "long");
    assert_eq!(client.line("refused")["refused"], 1400);
    stand_in.deliver(&json!({"post_type": "notice", "notice_type": "group_decrease", "sub_type": "kick_me", "time": 1, "self_id": 10_001, "user_id": 10_001, "operator_id": 8, "group_id": 99}));
    assert_eq!(client.line("notice")["notice"], "notice.group_decrease.kick_me");
    stand_in.beat(true);
    stand_in.cut();
    client.line("ended");
    assert_eq!(client.line("connected")["connected"], "10001");
}

#[test]
fn nonebot_accepts_the_stand_in_of_napcat_as_a_server() {
    let stand_in = OneBot::start();
    let mut client = Client::python("nonebot2", "onebot.py", &[&stand_in.url(), TOKEN], &[]);
    talk(&stand_in, &mut client);
}

#[test]
fn nonebot_accepts_the_stand_in_of_napcat_as_a_client() {
    let stand_in = OneBot::start();
    // The port was free a moment ago; the client cannot report a port that it chose itself.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut client = Client::python("nonebot2", "onebot.py", &[&port.to_string(), TOKEN], &[]);
    stand_in.dial(Some(&format!("ws://127.0.0.1:{port}/onebot/v11/ws")));
    talk(&stand_in, &mut client);
    stand_in.dial(None);
}
