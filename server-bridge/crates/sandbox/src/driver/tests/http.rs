//! HTTP requests through a runner.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use proto::handshake::{HTTP_CAPABILITY, UPDATE_CAPABILITY};
use proto::message::{HttpDone, HttpHeaders};
use proto::session::Event;
use proto::{Channel, ErrorKind, Request, WireError};

use super::{World, world};
use crate::facts::RunnerFacts;
use crate::handle::Sandbox;
use crate::{HttpRequest, SandboxError};

fn request() -> HttpRequest {
    HttpRequest {
        method: "POST".into(),
        url: "http://10.0.0.5/mcp".into(),
        headers: vec![("accept".into(), b"text/event-stream".to_vec())],
        body: Bytes::from_static(b"{}"),
        timeout: Duration::from_secs(30),
        idle: None,
    }
}

fn head(status: u16) -> HttpHeaders {
    HttpHeaders { status, headers: vec![("content-type".into(), b"text/event-stream".to_vec())] }
}

/// The sandbox of a runner that has these capabilities alone.
fn with(world: &World, capabilities: &[&str], profile: &str) -> Sandbox {
    let facts = RunnerFacts {
        capabilities: capabilities.iter().map(|name| (*name).to_owned()).collect(),
        profile: profile.to_owned(),
        ..world.sandbox.facts().clone()
    };
    Sandbox::new(world.sandbox.link().with_facts(Arc::new(facts)))
}

#[tokio::test(start_paused = true)]
async fn the_body_goes_out_and_the_answer_comes_piece_by_piece() {
    let mut world = world().await;
    let sandbox = with(&world, &[HTTP_CAPABILITY], "workspace");
    let asked = tokio::spawn(async move { sandbox.http(request()).await });
    let (stream, opened) = world.runner.opened().await;
    let Request::Http(opened) = opened else { panic!("{opened:?}") };
    assert_eq!((opened.method.as_str(), opened.timeout_ms, opened.idle_ms), ("POST", Some(30_000), None));
    assert!(matches!(world.runner.next().await, Some(Event::Data(_, Channel::Main, bytes)) if bytes == "{}"));
    assert_eq!(world.runner.next().await, Some(Event::End(stream, Channel::Main)));
    world.runner.send(stream, head(307), false);
    world.runner.flush().await;
    let mut answer = asked.await.unwrap().unwrap();
    assert_eq!((answer.status(), answer.headers()), (307, head(307).headers.as_slice()));
    for piece in ["data: 1\n\n", "data: 2\n\n"] {
        world.runner.write(stream, Channel::Main, piece.as_bytes());
        world.runner.flush().await;
        assert_eq!(answer.next().await.unwrap().unwrap(), piece);
    }
    world.runner.send(stream, HttpDone { bytes: 18 }, true);
    world.runner.flush().await;
    assert!(answer.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lost_link_loses_the_answer_and_nothing_is_sent_again() {
    let mut world = world().await;
    let sandbox = with(&world, &[HTTP_CAPABILITY], "workspace");
    let (begun, waiting) = (sandbox.clone(), sandbox);
    let begun = tokio::spawn(async move { begun.http(request()).await });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(200), false);
    world.runner.flush().await;
    let mut answer = begun.await.unwrap().unwrap();
    let waiting = tokio::spawn(async move { waiting.http(request()).await });
    while !matches!(world.runner.next().await, Some(Event::Opened(..))) {}
    drop(world.runner);
    assert!(matches!(answer.next().await, Some(Err(SandboxError::Lost { .. }))));
    assert!(matches!(waiting.await.unwrap(), Err(SandboxError::Lost { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_request_is_cancelled_when_its_answer_is_dropped_or_no_longer_awaited() {
    let mut world = world().await;
    let sandbox = with(&world, &[HTTP_CAPABILITY], "workspace");
    let begun = tokio::spawn({
        let sandbox = sandbox.clone();
        async move { sandbox.http(request()).await }
    });
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(200), false);
    world.runner.flush().await;
    drop(begun.await.unwrap().unwrap());
    while world.runner.next().await != Some(Event::Cancelled(stream)) {}
    let waiting = tokio::spawn(async move { sandbox.http(request()).await });
    let opened = loop {
        if let Some(Event::Opened(opened, _)) = world.runner.next().await {
            break opened;
        }
    };
    waiting.abort();
    while world.runner.next().await != Some(Event::Cancelled(opened)) {}
}

#[tokio::test(start_paused = true)]
async fn an_invalid_answer_is_a_protocol_error_and_a_refusal_is_reported() {
    let mut world = world().await;
    let sandbox = with(&world, &[HTTP_CAPABILITY], "workspace");
    let ask = || {
        let sandbox = sandbox.clone();
        tokio::spawn(async move { sandbox.http(request()).await })
    };
    let asked = ask();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(200), false);
    world.runner.send(stream, HttpDone { bytes: 1 }, true);
    world.runner.flush().await;
    let mut answer = asked.await.unwrap().unwrap();
    assert!(matches!(answer.next().await, Some(Err(SandboxError::Protocol { .. }))));
    for wrong in [Some(head(0)), Some(head(1_000)), None] {
        let asked = ask();
        let stream = loop {
            if let Some(Event::Opened(opened, _)) = world.runner.next().await {
                break opened;
            }
        };
        match wrong {
            Some(head) => world.runner.send(stream, head, false),
            None => world.runner.send(stream, HttpDone { bytes: 0 }, true),
        }
        world.runner.flush().await;
        assert!(matches!(asked.await.unwrap(), Err(SandboxError::Protocol { .. })));
    }
    let asked = ask();
    let stream = loop {
        if let Some(Event::Opened(opened, _)) = world.runner.next().await {
            break opened;
        }
    };
    world.runner.session.fail(stream, &WireError::new(ErrorKind::SandboxDenied, "use --http-allow"));
    world.runner.flush().await;
    let error = asked.await.unwrap().unwrap_err();
    assert!(matches!(error, SandboxError::Remote { kind: ErrorKind::SandboxDenied, .. }), "{error}");
    assert!(error.to_string().contains("--http-allow"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_older_runner_is_not_asked_and_the_error_says_how_to_update_it() {
    let world = world().await;
    for (capabilities, profile, words) in [
        (&[UPDATE_CAPABILITY][..], "workspace", "sandbridge runner update"),
        (&[], "workspace", "sandbridge runner rotate"),
        (&[], crate::facts::LEGACY_PROFILE, "xbot"),
    ] {
        let error = with(&world, capabilities, profile).http(request()).await.unwrap_err();
        assert!(matches!(error, SandboxError::NoHttp { .. }) && error.kind() == "unsupported", "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}
