//! Requests to a runner's LLM endpoint.

use proto::message::{LlmDone, LlmHeaders};
use proto::session::Event;
use proto::{Channel, ErrorKind, Request, WireError};

use super::world;
use crate::{LlmRequest, SandboxError};

fn request() -> LlmRequest {
    LlmRequest { path: "/v1/messages".into(), headers: vec![("accept".into(), "text/event-stream".into())] }
}

fn head() -> LlmHeaders {
    LlmHeaders { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())] }
}

#[tokio::test(start_paused = true)]
async fn the_body_goes_out_and_the_answer_comes_piece_by_piece() {
    let mut world = world().await;
    let mut body = world.sandbox.llm(request()).await.unwrap();
    let (stream, opened) = world.runner.opened().await;
    assert!(matches!(opened, Request::Llm(llm) if llm.path == "/v1/messages" && llm.headers.len() == 1));
    body.write(b"{}").await.unwrap();
    let answer = tokio::spawn(body.finish());
    assert!(matches!(world.runner.next().await, Some(Event::Data(_, Channel::Main, bytes)) if bytes == "{}"));
    assert_eq!(world.runner.next().await, Some(Event::End(stream, Channel::Main)));
    world.runner.send(stream, head(), false);
    world.runner.flush().await;
    let mut answer = answer.await.unwrap().unwrap();
    assert_eq!((answer.status(), answer.headers()), (200, head().headers.as_slice()));
    for piece in ["data: 1\n\n", "data: 2\n\n"] {
        world.runner.write(stream, Channel::Main, piece.as_bytes());
        world.runner.flush().await;
        assert_eq!(answer.next().await.unwrap().unwrap(), piece);
    }
    world.runner.send(stream, LlmDone { bytes: 18 }, true);
    world.runner.flush().await;
    assert!(answer.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_lost_link_loses_the_answer_and_nothing_is_asked_again() {
    let mut world = world().await;
    let body = world.sandbox.llm(request()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(), false);
    world.runner.flush().await;
    let mut answer = body.finish().await.unwrap();
    let waiting = world.sandbox.llm(request()).await.unwrap();
    assert_eq!(world.runner.next().await, Some(Event::End(stream, Channel::Main)));
    world.runner.opened().await;
    drop(world.runner);
    assert!(matches!(answer.next().await, Some(Err(SandboxError::Lost { .. }))));
    assert!(matches!(waiting.finish().await, Err(SandboxError::Lost { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_answer_is_cancelled_and_a_failure_is_told() {
    let mut world = world().await;
    let body = world.sandbox.llm(request()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(), false);
    world.runner.flush().await;
    drop(body.finish().await.unwrap());
    assert_eq!(world.runner.next().await, Some(Event::End(stream, Channel::Main)));
    assert_eq!(world.runner.next().await, Some(Event::Cancelled(stream)));

    let body = world.sandbox.llm(request()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.session.fail(stream, &WireError::new(ErrorKind::Unsupported, "no endpoint"));
    world.runner.flush().await;
    let error = body.finish().await.unwrap_err();
    assert!(matches!(error, SandboxError::Remote { kind: ErrorKind::Unsupported, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_shorter_than_announced_or_has_no_beginning_is_a_protocol_error() {
    let mut world = world().await;
    let body = world.sandbox.llm(request()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, head(), false);
    world.runner.send(stream, LlmDone { bytes: 1 }, true);
    world.runner.flush().await;
    let mut answer = body.finish().await.unwrap();
    assert!(matches!(answer.next().await, Some(Err(SandboxError::Protocol { .. }))));

    let body = world.sandbox.llm(request()).await.unwrap();
    let (stream, _) = world.runner.opened().await;
    world.runner.send(stream, LlmDone { bytes: 0 }, true);
    world.runner.flush().await;
    assert!(matches!(body.finish().await, Err(SandboxError::Protocol { .. })));
}
