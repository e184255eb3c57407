//! Accepted and refused handshakes, and two connections of one runner.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Handshake, Ready, Refusal, RefusalReason, VersionRange};
use proto::ids::Nonce;
use proto::session::CloseCode;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::handshake::{Opening, register};
use crate::testing::{ScriptedRunner, admit, facts, receive, register_with, send, settle};
use crate::{
    Choice, Disconnect, LinkError, LinkMessage, MemoryLink, RouteRequest, RouterConfig, RunnerEvent,
    SandboxRouter, User, memory_link,
};

type Served = JoinHandle<Result<(), LinkError>>;

fn router() -> SandboxRouter {
    SandboxRouter::new(RouterConfig::default())
}

fn serve(router: &SandboxRouter) -> (MemoryLink, Served) {
    let (server_end, runner_end) = memory_link();
    let router = router.clone();
    (runner_end, tokio::spawn(async move { router.serve_remote(server_end, admit).await }))
}

async fn refusal(link: &mut MemoryLink) -> Refusal {
    match receive(link).await {
        Some(Handshake::Error { body }) => body,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn silent_socket_is_closed_after_10_s() {
    let (mut link, served) = serve(&router());
    let begin = Instant::now();
    assert_eq!(refusal(&mut link).await.reason, RefusalReason::Malformed);
    assert_eq!(begin.elapsed(), Duration::from_secs(10));
    assert!(receive(&mut link).await.is_none());
    assert!(matches!(served.await.unwrap(), Err(LinkError::HandshakeTimeout)));
}

#[tokio::test(start_paused = true)]
async fn registered_but_never_ready_is_closed_after_10_s() {
    let router = router();
    let (mut link, served) = serve(&router);
    send(&mut link, &register_with("u1:laptop:1", Some(facts(1)))).await;
    assert!(matches!(receive(&mut link).await, Some(Handshake::RegisterOk { .. })));
    assert!(router.runners("u1").is_empty());
    assert!(matches!(served.await.unwrap(), Err(LinkError::HandshakeTimeout)));
}

#[tokio::test(start_paused = true)]
async fn wrong_token_is_refused_with_its_reason() {
    let (mut link, served) = serve(&router());
    send(&mut link, &register_with("nonsense", Some(facts(1)))).await;
    assert_eq!(refusal(&mut link).await.reason, RefusalReason::TokenUnknown);
    assert!(matches!(served.await.unwrap(), Err(LinkError::Refused { .. })));
}

#[tokio::test(start_paused = true)]
async fn peers_without_a_common_protocol_are_refused_politely() {
    let later = proto::handshake::Facts { protocol: VersionRange { min: 2, max: 3 }, ..facts(1) };
    let (mut link, served) = serve(&router());
    send(&mut link, &register_with("u1:laptop:1", Some(later))).await;
    assert_eq!(refusal(&mut link).await.reason, RefusalReason::ProtocolVersion);
    assert!(served.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn runners_that_the_server_starts_speak_its_own_protocol() {
    let (mut server_end, mut link) = memory_link();
    let registered =
        tokio::spawn(async move { register(&mut server_end, Opening::ServerAttaches, admit).await });
    assert!(matches!(receive(&mut link).await, Some(Handshake::Attach {})));
    send(&mut link, &register_with("u1:laptop:1", None)).await;
    assert_eq!(refusal(&mut link).await.reason, RefusalReason::ProtocolVersion);
    assert!(registered.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_no_registration_is_refused() {
    let oversized = format!(r#"{{"type":"register","body":{{"shell":"{}"}}}}"#, "x".repeat(70_000));
    let hello = Handshake::Attach {}.to_text();
    let messages = [
        LinkMessage::Text(oversized),
        LinkMessage::Text(hello),
        LinkMessage::Text("{".to_owned()),
        LinkMessage::Binary(bytes::Bytes::from_static(&[0; 16])),
    ];
    for message in messages {
        let (mut link, served) = serve(&router());
        link.send(message).await.unwrap();
        assert_eq!(refusal(&mut link).await.reason, RefusalReason::Malformed);
        assert!(matches!(served.await.unwrap(), Err(LinkError::Malformed(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_echo_is_not_admitted() {
    let router = router();
    let (mut link, served) = serve(&router);
    send(&mut link, &register_with("u1:laptop:1", Some(facts(1)))).await;
    let Some(Handshake::RegisterOk { body }) = receive(&mut link).await else { panic!("refused") };
    let epoch = body.sandbridge.unwrap().epoch;
    send(&mut link, &Handshake::Ready { body: Ready { epoch, nonce: Nonce([0; 16]) } }).await;
    assert_eq!(refusal(&mut link).await.reason, RefusalReason::Malformed);
    assert!(served.await.unwrap().is_err());
    assert!(router.runners("u1").is_empty());
}

#[tokio::test(start_paused = true)]
async fn another_process_takes_over_and_the_first_is_told_to_stop() {
    let router = router();
    let mut events = router.subscribe();
    let (link, first_served) = serve(&router);
    let mut first = ScriptedRunner::connect(link, "u1:laptop:1", 1).await;
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }));
    let (link, _second_served) = serve(&router);
    let second = ScriptedRunner::connect(link, "u1:laptop:2", 2).await;
    assert_eq!(second.accepted.epoch.0, 2);
    assert_eq!(first.closed().await.code, CloseCode::Replaced);
    let RunnerEvent::TakenOver { old_hostname, new_hostname, .. } = events.recv().await.unwrap() else {
        panic!("no takeover")
    };
    assert_eq!((old_hostname.as_str(), new_hostname.as_str()), ("host1", "host2"));
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }));
    first_served.await.unwrap().unwrap();
    assert!(events.try_recv().is_err(), "the old link's end must not mark the new one offline");
    assert_eq!(router.runners("u1")[0].facts.hostname, "host2");
}

#[tokio::test(start_paused = true)]
async fn same_process_reconnecting_replaces_its_old_socket_quietly() {
    let router = router();
    let mut events = router.subscribe();
    let (link, first_served) = serve(&router);
    let mut first = ScriptedRunner::connect(link, "u1:laptop:1", 1).await;
    let (link, _second_served) = serve(&router);
    let _second = ScriptedRunner::connect(link, "u1:laptop:2", 1).await;
    first_served.await.unwrap().unwrap();
    assert!(first.link.next().await.is_none(), "no last word");
    for _ in 0..2 {
        assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Online { .. }));
    }
    assert!(events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn stale_connection_never_wins_over_a_newer_one() {
    let router = router();
    let (link, _newer_served) = serve(&router);
    let _newer = ScriptedRunner::connect(link, "u1:laptop:5", 1).await;
    let (link, older_served) = serve(&router);
    let _older = ScriptedRunner::connect(link, "u1:laptop:4", 2).await;
    assert!(matches!(older_served.await.unwrap(), Err(LinkError::Stale)));
    assert_eq!(router.runners("u1")[0].facts.hostname, "host1");
}

#[tokio::test(start_paused = true)]
async fn revoked_runner_is_told_and_offline_at_once() {
    let router = router();
    let mut events = router.subscribe();
    let (link, served) = serve(&router);
    let mut runner = ScriptedRunner::connect(link, "u1:laptop:1", 1).await;
    events.recv().await.unwrap();
    router.disconnect("u1", "laptop", Disconnect::Revoked);
    assert!(router.runners("u1").is_empty());
    assert_eq!(runner.closed().await.code, CloseCode::Revoked);
    served.await.unwrap().unwrap();
    assert!(matches!(events.recv().await.unwrap(), RunnerEvent::Offline { .. }));
    assert!(events.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_registers_while_its_user_moves_to_another_server_is_not_kept_here() {
    let router = router();
    let (mut link, served) = serve(&router);
    send(&mut link, &register_with("u1:laptop:1", Some(facts(1)))).await;
    let Some(Handshake::RegisterOk { body }) = receive(&mut link).await else { panic!("refused") };
    let accepted = body.sandbridge.unwrap();
    router.send_away("u1");
    let body = Ready { epoch: accepted.epoch, nonce: accepted.nonce };
    send(&mut link, &Handshake::Ready { body }).await;
    assert!(receive(&mut link).await.is_none(), "its link ends");
    assert!(matches!(served.await.unwrap(), Err(LinkError::SentAway)));
    assert!(router.runners("u1").is_empty());

    // The user's runner may register again, and runners of other users are not affected.
    tokio::time::advance(Duration::from_millis(1)).await;
    let (link, _served) = serve(&router);
    let mut runner = ScriptedRunner::connect(link, "u1:laptop:2", 1).await;
    let (link, _others_served) = serve(&router);
    let _other = ScriptedRunner::connect(link, "u2:laptop:1", 2).await;
    settle().await;
    assert_eq!((router.runners("u1").len(), router.runners("u2").len()), (1, 1));
    router.send_away("u1");
    assert_eq!(runner.closed().await.code, CloseCode::GoingAway);
    assert_eq!((router.runners("u1").len(), router.runners("u2").len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn one_user_never_reaches_another_users_runner() {
    let router = router();
    let mut events = router.subscribe();
    let (link, _served) = serve(&router);
    let _runner = ScriptedRunner::connect(link, "u1:laptop:1", 1).await;
    events.recv().await.unwrap();
    let other = User { key: "u2".to_owned(), name: "bob".to_owned(), is_admin: true };
    let route_request = RouteRequest { choice: Choice::Auto, registered: vec!["laptop".to_owned()] };
    assert_eq!(
        router.for_user(&other, &route_request).await.unwrap_err().to_string(),
        "runner laptop is offline"
    );
    assert!(router.runners("u2").is_empty());
}
