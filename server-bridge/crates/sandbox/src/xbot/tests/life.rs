//! The life of an xbot runner's link: registration, keepalive, its end, and attacks of a hostile runner.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Runner, connect, register_text, result, user};
use crate::testing::{admit, settle};
use crate::{
    Disconnect, ExecRequest, LinkError, LinkMessage, RouteRequest, RouterConfig, RunnerEvent, SandboxRouter,
    memory_link,
};

#[tokio::test(start_paused = true)]
async fn such_a_runner_is_known_as_unconfined_and_without_resume() {
    let (router, sandbox, _runner) = connect().await;
    let facts = sandbox.facts();
    assert_eq!(
        (facts.profile.as_str(), facts.workspace.as_str()),
        ("legacy: unconfined, no resume", "/home/dev/ws")
    );
    assert!(facts.layers.iter().all(|layer| !layer.holds) && facts.layers.len() == 4);
    assert_eq!(router.runners("u1")[0].facts.profile, facts.profile);
    router.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_in_its_own_words() {
    let router = SandboxRouter::new(RouterConfig::default());
    let (server_end, mut link) = memory_link();
    let served = tokio::spawn(async move { router.serve_remote(server_end, admit).await });
    link.send(LinkMessage::Text(register_text("nonsense", "/ws"))).await.unwrap();
    let Some(Ok(LinkMessage::Text(text))) = link.next().await else { panic!("no answer") };
    let expected = json!({"type": "error", "body": {"code": "AUTH_FAILED", "message": "no such token"}});
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    assert!(link.next().await.is_none());
    assert!(matches!(served.await.unwrap(), Err(LinkError::Refused { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_answers_pings_lives_and_one_that_only_talks_dies() {
    let (router, _sandbox, mut runner) = connect().await;
    let day = Instant::now() + Duration::from_secs(24 * 3600);
    assert!(tokio::time::timeout_at(day, runner.asked()).await.is_err(), "nothing but pings, for a day");
    assert_eq!(router.runners("u1").len(), 1);

    let begin = Instant::now();
    runner.is_alive = false;
    let talk = LinkMessage::Text(r#"{"type":"stdio_data","body":{}}"#.to_owned());
    while runner.link.send(talk.clone()).await.is_ok() {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert!((30..=61).contains(&begin.elapsed().as_secs()), "{:?}", begin.elapsed());
    drop(runner.link);
    let Err(LinkError::Io(error)) = runner.served.await.unwrap() else { panic!("no error") };
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert!(router.runners("u1").is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_is_under_way_at_a_disconnect_is_lost_and_what_comes_later_offline() {
    let (router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("sleep 9")).await.unwrap();
    let mut waits_for_input = ExecRequest::shell("cat");
    waits_for_input.stdin = true;
    let unsent = sandbox.exec(waits_for_input).await.unwrap();
    runner.asked_for("exec").await;
    let stat = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.stat(b"x").await }
    });
    runner.asked_for("stat").await;
    drop(runner.link);
    assert_eq!(exec.collect(9).await.unwrap_err().kind(), "lost");
    assert_eq!(unsent.collect(9).await.unwrap_err().kind(), "offline");
    assert_eq!(stat.await.unwrap().unwrap_err().kind(), "lost");
    assert!(runner.served.await.unwrap().is_ok());
    assert_eq!(sandbox.stat(b"x").await.unwrap_err().kind(), "offline");
    assert!(
        router
            .for_user(
                &user(),
                &RouteRequest { choice: crate::Choice::Auto, registered: vec!["laptop".to_owned()] }
            )
            .await
            .is_err()
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_came_just_before_the_end_counts() {
    let (_router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    runner.serve("exec", "exec_result", result("whole", "", 0, false)).await;
    drop(runner.link);
    assert_eq!(exec.collect(9).await.unwrap().stdout, b"whole");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_message_ends_the_link_for_nobody_knows_what_it_answered() {
    for message in [
        LinkMessage::Text("not json at all".to_owned()),
        LinkMessage::Text("[]".to_owned()),
        LinkMessage::Text("{\"id\":".to_owned()),
        LinkMessage::Binary((&b"\xff\xfe"[..]).into()),
    ] {
        let (_router, sandbox, mut runner) = connect().await;
        let exec = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
        runner.asked_for("exec").await;
        runner.say(message).await;
        assert_eq!(exec.collect(9).await.unwrap_err().kind(), "lost");
        assert!(matches!(runner.served.await.unwrap(), Err(LinkError::Io(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn messages_for_nobody_are_ignored_and_binary_ones_are_read_as_text() {
    let (_router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    let asked = runner.asked_for("exec").await;
    for text in [
        r#"{"type":"banana"}"#,
        r#"{"type":"error","body":{"message":"unknown request type: pty_stdin","code":"EINVAL"}}"#,
        r#"{"id":"unknown","type":"ok"}"#,
        r#"{"type":"pty_exit","body":{"stream_id":"p","exit_code":0}}"#,
        &register_text("u1:laptop:9", "/elsewhere"),
    ] {
        runner.say(LinkMessage::Text(text.to_owned())).await;
    }
    let answer =
        json!({"id": asked["id"], "type": "exec_result", "body": result("y", "", 0, false), "later": 1});
    runner.say(LinkMessage::Binary(answer.to_string().into())).await;
    assert_eq!(exec.collect(9).await.unwrap().stdout, b"y");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_never_answered_ends_at_a_deadline() {
    let (_router, sandbox, mut runner) = connect().await;
    let quiet = async {
        let forever = Instant::now() + Duration::from_secs(601);
        while let Ok(Some(_)) = tokio::time::timeout_at(forever, runner.asked()).await {}
    };
    let both = async { tokio::join!(sandbox.stat(b"x"), sandbox.remove(b"y")) };
    let ((stat, remove), ()) = tokio::join!(both, quiet);
    assert_eq!(stat.unwrap_err().kind(), "io");
    assert_eq!(remove.unwrap_err().kind(), "ambiguous", "it may have been removed");
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_comes_back_takes_its_own_place_without_an_alarm() {
    let (router, sandbox, runner) = connect().await;
    let mut events = router.subscribe();
    let _again = Runner::register(&router, &register_text("u1:laptop:2", super::WORKSPACE)).await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }));
    runner.served.await.unwrap().unwrap();
    assert_eq!(sandbox.stat(b"x").await.unwrap_err().kind(), "offline");
    settle().await;
    assert!(events.try_recv().is_err(), "it was never offline");

    let _stranger = Runner::register(&router, &register_text("u1:laptop:3", "/another/workspace")).await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::TakenOver { .. }));
    router.disconnect("u1", "laptop", Disconnect::Revoked);
    assert!(router.runners("u1").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_server_that_stops_ends_the_link_and_what_is_under_way() {
    let (router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("x")).await.unwrap();
    runner.asked_for("exec").await;
    router.shutdown().await;
    assert_eq!(exec.collect(9).await.unwrap_err().kind(), "lost");
    assert!(runner.asked().await.is_none());
    runner.served.await.unwrap().unwrap();
}
