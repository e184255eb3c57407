//! A runner for tests: the handshake and [`proto::Session`], with a script instead of processes.

use std::collections::VecDeque;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Accepted, Facts, Handshake, Ready, Register, VersionRange};
use proto::session::{Close, Event};
use proto::{BootId, Session, Side};
use tokio::time::{Instant, sleep_until};

use crate::{Admission, Link, LinkMessage, MemoryLink, Refusal, RefusalReason, Registration};

/// A scripted runner's description of itself.
pub(crate) fn facts(boot: u8) -> Facts {
    Facts {
        protocol: VersionRange::OURS,
        runner_id: String::new(),
        boot_id: BootId([boot; 16]),
        os: "linux".to_owned(),
        arch: "x86_64".to_owned(),
        hostname: format!("host{boot}"),
        version: "0.1.0".to_owned(),
        profile: "workspace".to_owned(),
        capabilities: Vec::new(),
        landlock_abi: 7,
        kill_tier: "walk".to_owned(),
        layers: Vec::new(),
        run_as: None,
        update_error: None,
    }
}

pub(crate) fn register_with(token: &str, facts: Option<Facts>) -> Handshake {
    let body = Register {
        user_id: String::new(),
        auth_token: token.to_owned(),
        workspace: "/workspace".to_owned(),
        shell: "/bin/sh".to_owned(),
        llm_provider: String::new(),
        llm_model: String::new(),
        sandbridge: facts,
    };
    Handshake::Register { user_id: String::new(), body: Box::new(body) }
}

/// Admits tokens of the form `user:runner:epoch`.
pub(crate) async fn admit(registration: Registration) -> Result<Admission, Refusal> {
    let mut parts = registration.token.split(':');
    match (parts.next(), parts.next(), parts.next().and_then(|epoch| epoch.parse().ok())) {
        (Some(user), Some(runner), Some(epoch)) => Ok(Admission {
            user_key: user.to_owned(),
            runner: runner.to_owned(),
            epoch,
            token: None,
            version: None,
        }),
        _ => Err(Refusal { reason: RefusalReason::TokenUnknown, message: "no such token".to_owned() }),
    }
}

/// The runner's end of a registered link.
pub(crate) struct ScriptedRunner<L = MemoryLink> {
    pub(crate) link: L,
    pub(crate) session: Session,
    pub(crate) accepted: Accepted,
    events: VecDeque<Event>,
}

pub(crate) async fn send<L: Link>(link: &mut L, handshake: &Handshake) {
    link.send(LinkMessage::Text(handshake.to_text())).await.unwrap();
}

/// The next handshake, `None` at the link's end.
pub(crate) async fn receive<L: Link>(link: &mut L) -> Option<Handshake> {
    match link.next().await?.unwrap() {
        LinkMessage::Text(text) => Some(Handshake::from_text(&text).unwrap()),
        other => panic!("expected text during the handshake, got {other:?}"),
    }
}

impl<L: Link> ScriptedRunner<L> {
    /// Registers as the runner of `token`.
    pub(crate) async fn connect(link: L, token: &str, boot: u8) -> Self {
        Self::connect_with(link, token, facts(boot)).await
    }

    /// Registers with this description.
    pub(crate) async fn connect_with(mut link: L, token: &str, facts: Facts) -> Self {
        send(&mut link, &register_with(token, Some(facts))).await;
        let Some(Handshake::RegisterOk { body }) = receive(&mut link).await else { panic!("refused") };
        let accepted = body.sandbridge.unwrap();
        let body = Ready { epoch: accepted.epoch, nonce: accepted.nonce };
        send(&mut link, &Handshake::Ready { body }).await;
        let session = Session::new(Side::Executor, Instant::now().into_std());
        Self { link, session, accepted, events: VecDeque::new() }
    }

    /// Sends everything that may be sent, then waits for the next event; `None` at the link's end.
    pub(crate) async fn next(&mut self) -> Option<Event> {
        loop {
            self.flush().await;
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            let timeout = self.session.next_timeout();
            tokio::select! {
                message = self.link.next() => {
                    let LinkMessage::Binary(frame) = message?.unwrap() else { panic!("text") };
                    self.events.extend(self.session.receive(&frame, Instant::now().into_std()).unwrap());
                }
                () = sleep_until(timeout.into()) => {
                    if self.session.handle_timeout(Instant::now().into_std()).is_err() {
                        return None;
                    }
                }
            }
        }
    }

    pub(crate) async fn flush(&mut self) {
        while let Some(frame) = self.session.poll_transmit(Instant::now().into_std()) {
            // If the server has closed the link, that shows at the next read.
            let _ = self.link.send(LinkMessage::Binary(frame)).await;
        }
    }

    /// The close message that ends the link; panics if the link ends without one, or if another event arrives first.
    pub(crate) async fn closed(&mut self) -> Close {
        match self.next().await {
            Some(Event::Closed(close)) => close,
            other => panic!("expected a close message, got {other:?}"),
        }
    }
}

/// Lets every other task run until it waits for something; only for a paused clock.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
