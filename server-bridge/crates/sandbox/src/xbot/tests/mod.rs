//! An xbot runner that follows a script, at the other end of an in-memory link.

mod exec;
mod files;
mod life;
mod replay;

use std::collections::VecDeque;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::testing::admit;
use crate::{
    Choice, Dialect, LinkError, LinkMessage, MemoryLink, RouteRequest, RouterConfig, Sandbox, SandboxRouter,
    User, memory_link,
};

pub(super) const WORKSPACE: &str = "/home/dev/ws";

/// The runner's end of a registered link.
pub(super) struct Runner {
    pub(super) link: MemoryLink,
    pub(super) served: JoinHandle<Result<(), LinkError>>,
    /// True if it answers pings.
    pub(super) is_alive: bool,
    asked: VecDeque<Value>,
}

/// A registration as an xbot runner sends it.
pub(super) fn register_text(token: &str, workspace: &str) -> String {
    let body = json!({"user_id": "u1", "auth_token": token, "workspace": workspace, "shell": "/bin/bash"});
    json!({"type": "register", "user_id": "u1", "body": body}).to_string()
}

pub(super) fn user() -> User {
    User { key: "u1".to_owned(), name: "u1".to_owned(), is_admin: false }
}

/// Registers a scripted runner in a new router.
pub(super) async fn connect() -> (SandboxRouter, Sandbox, Runner) {
    connect_at(WORKSPACE).await
}

pub(super) async fn connect_at(workspace: &str) -> (SandboxRouter, Sandbox, Runner) {
    let router = SandboxRouter::new(RouterConfig::default());
    let runner = Runner::register(&router, &register_text("u1:laptop:1", workspace)).await;
    let route_request = RouteRequest { choice: Choice::Auto, registered: vec!["laptop".to_owned()] };
    let sandbox = router.for_user(&user(), &route_request).await.unwrap();
    (router, sandbox, runner)
}

impl Runner {
    pub(super) async fn register(router: &SandboxRouter, text: &str) -> Self {
        let (server_end, mut link) = memory_link();
        let router = router.clone();
        let served = tokio::spawn(async move {
            let admit = |registration: crate::Registration| async move {
                assert_eq!((registration.dialect, registration.claimed_user.as_str()), (Dialect::Xbot, "u1"));
                admit(registration).await
            };
            router.serve_remote(server_end, admit).await
        });
        link.send(LinkMessage::Text(text.to_owned())).await.unwrap();
        let Some(Ok(LinkMessage::Text(answer))) = link.next().await else { panic!("no answer") };
        assert_eq!(answer, r#"{"type":"register_ok","body":{"status":"ok"}}"#);
        let mut runner = Self { link, served, is_alive: true, asked: VecDeque::new() };
        // The first ping shows that the driver runs, so that the registry has the runner.
        assert_eq!(runner.link.next().await.unwrap().unwrap(), LinkMessage::Ping);
        runner.say(LinkMessage::Pong).await;
        runner
    }

    pub(super) async fn say(&mut self, message: LinkMessage) {
        self.link.send(message).await.unwrap();
    }

    /// The next request; `None` at the link's end.
    pub(super) async fn asked(&mut self) -> Option<Value> {
        if let Some(request) = self.asked.pop_front() {
            return Some(request);
        }
        loop {
            match self.link.next().await?.unwrap() {
                LinkMessage::Text(text) => return Some(serde_json::from_str(&text).unwrap()),
                LinkMessage::Ping if self.is_alive => self.say(LinkMessage::Pong).await,
                LinkMessage::Ping => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next request, which must be of this kind.
    pub(super) async fn asked_for(&mut self, kind: &str) -> Value {
        let request = self.asked().await.expect("a request");
        assert_eq!(request["type"], kind, "{request}");
        assert_eq!(request["user_id"], "u1");
        request
    }

    /// Answers a request.
    pub(super) async fn answer(&mut self, request: &Value, kind: &str, body: Value) {
        let mut message = json!({"id": request["id"], "type": kind});
        if !body.is_null() {
            message["body"] = body;
        }
        self.say(LinkMessage::Text(message.to_string())).await;
    }

    /// Answers the next request, which must be of this kind; returns its body.
    pub(super) async fn serve(&mut self, kind: &str, answer: &str, body: Value) -> Value {
        let request = self.asked_for(kind).await;
        self.answer(&request, answer, body).await;
        request["body"].clone()
    }
}

/// A command's answer.
pub(super) fn result(stdout: &str, stderr: &str, exit_code: i32, timed_out: bool) -> Value {
    json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "timed_out": timed_out})
}

pub(super) fn fault(code: &str, message: &str) -> Value {
    json!({"code": code, "message": message})
}

/// Metadata of a path, as an xbot runner sends them.
pub(super) fn info(size: u64, mode: u32, is_dir: bool) -> Value {
    json!({"name": "x", "size": size, "mode": mode, "mod_time": "2026-11-21T20:49:28Z", "is_dir": is_dir})
}
