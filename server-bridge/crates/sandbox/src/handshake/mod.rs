//! The handshake from the server's side, on any link, and the admission of a runner in it.
//!
//! A runner without the extension `sandbridge` is treated as one of xbot's; `xbot` fills in the details that it does not report.

mod admission;
mod xbot;

use std::future::Future;
use std::io;
use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use proto::handshake::{Accepted, Facts, Handshake, Ready, Register, RegisterOk, VersionRange};
use proto::ids::Nonce;
use proto::limits::{HANDSHAKE_TIMEOUT, MAX_HANDSHAKE_BYTES};
use proto::{BootId, Epoch};
use tokio::time::{Instant, timeout};

pub use admission::{Admission, Dialect, Refusal, RefusalReason, Registration};

use crate::error::LinkError;
use crate::facts::RunnerFacts;
use crate::limits::{CLOSE_TIMEOUT, MAX_LEFTOVER_BYTES};
use crate::link::{Link, LinkMessage};

/// The token in a runner's first message, in either dialect; `None` if the message is not a registration.
pub fn token_of(message: &LinkMessage) -> Option<String> {
    let LinkMessage::Text(text) = message else { return None };
    match Handshake::from_text(text) {
        Ok(Handshake::Register { body, .. }) => Some(body.auth_token),
        Ok(_) | Err(_) => None,
    }
}

/// True if this is the message that accepts a runner's registration.
pub fn is_acceptance(text: &str) -> bool {
    matches!(Handshake::from_text(text), Ok(Handshake::RegisterOk { .. }))
}

/// A runner whose registration took effect.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) admission: Admission,
    pub(crate) facts: Arc<RunnerFacts>,
    pub(crate) boot_id: BootId,
    pub(crate) dialect: Dialect,
    /// The user it claims to serve.
    pub(crate) claimed_user: String,
    /// The time at which the runner's registration began.
    pub(crate) began: Instant,
}

/// The side that begins: a runner that dialled, or the server that attached to a byte stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// The runner registers immediately.
    RunnerRegisters,
    /// The server asks for the registration; unread output for an earlier client arrives first and is dropped.
    ServerAttaches,
}

/// Registers the runner at the other end of `link`, within 10 s and 64 KiB.
pub(crate) async fn register<L, F, Fut>(
    link: &mut L,
    opening: Opening,
    admit: F,
) -> Result<Admitted, LinkError>
where
    L: Link,
    F: FnOnce(Registration) -> Fut,
    Fut: Future<Output = Result<Admission, Refusal>>,
{
    let mut dialect = Dialect::Sandbridge;
    let result = match timeout(HANDSHAKE_TIMEOUT, converse(link, opening, admit, &mut dialect)).await {
        Ok(result) => result,
        Err(_) => Err(LinkError::HandshakeTimeout),
    };
    if let Err(error) = &result {
        tell_and_close(link, error, dialect).await;
    }
    result
}

async fn converse<L, F, Fut>(
    link: &mut L,
    opening: Opening,
    admit: F,
    dialect: &mut Dialect,
) -> Result<Admitted, LinkError>
where
    L: Link,
    F: FnOnce(Registration) -> Fut,
    Fut: Future<Output = Result<Admission, Refusal>>,
{
    if opening == Opening::ServerAttaches {
        send(link, &Handshake::Attach {}).await?;
    }
    let began = Instant::now();
    let register = next_register(link, opening).await?;
    let Some(facts) = register.sandbridge.clone() else {
        if opening == Opening::ServerAttaches {
            let message = "the server's own runner speaks another dialect; it must be sandbridge-runner";
            return Err(refused(RefusalReason::ProtocolVersion, message.to_owned()));
        }
        *dialect = Dialect::Xbot;
        return admit_xbot(link, register, began, admit).await;
    };
    let protocol = common_version(&facts)?;
    let registration = Registration::new(register, Some(&facts));
    let claimed_user = registration.claimed_user.clone();
    let runner_facts = Arc::new(registration.facts.clone());
    let admission = admit(registration).await.map_err(|refusal| refused(refusal.reason, refusal.message))?;
    let expected = Ready { epoch: Epoch(admission.epoch), nonce: Nonce(rand::random()) };
    let accepted = Accepted {
        protocol,
        runner: admission.runner.clone(),
        epoch: expected.epoch,
        nonce: expected.nonce,
        token: admission.token.clone(),
        version: admission.version.clone(),
    };
    let body = RegisterOk { status: "ok".to_owned(), sandbridge: Some(accepted) };
    send(link, &Handshake::RegisterOk { body }).await?;
    match read(link).await? {
        LinkMessage::Text(text) => match parse(&text)? {
            Handshake::Ready { body } if body == expected => {}
            _ => return Err(LinkError::Malformed("the answer was not the requested echo".to_owned())),
        },
        LinkMessage::Binary(_) | LinkMessage::Ping | LinkMessage::Pong => return Err(binary()),
    }
    let (dialect, boot_id) = (Dialect::Sandbridge, facts.boot_id);
    Ok(Admitted { admission, facts: runner_facts, boot_id, dialect, claimed_user, began })
}

/// Registers a runner without the extension: nothing more is negotiated with it.
async fn admit_xbot<L, F, Fut>(
    link: &mut L,
    register: Register,
    began: Instant,
    admit: F,
) -> Result<Admitted, LinkError>
where
    L: Link,
    F: FnOnce(Registration) -> Fut,
    Fut: Future<Output = Result<Admission, Refusal>>,
{
    let boot_id = xbot::boot_id(&register);
    let registration = Registration::new(register, None);
    let (facts, claimed_user) = (Arc::new(registration.facts.clone()), registration.claimed_user.clone());
    let admission = admit(registration).await.map_err(|refusal| refused(refusal.reason, refusal.message))?;
    let body = RegisterOk { status: "ok".to_owned(), sandbridge: None };
    send(link, &Handshake::RegisterOk { body }).await?;
    Ok(Admitted { admission, facts, boot_id, dialect: Dialect::Xbot, claimed_user, began })
}

async fn next_register<L: Link>(link: &mut L, opening: Opening) -> Result<Register, LinkError> {
    let mut leftover_bytes = 0;
    loop {
        let message = read(link).await?;
        if let LinkMessage::Text(text) = &message
            && let Handshake::Register { body, .. } = parse(text)?
        {
            return Ok(*body);
        }
        if opening == Opening::RunnerRegisters {
            return Err(match message {
                LinkMessage::Text(_) => {
                    LinkError::Malformed("the first message was not a registration".to_owned())
                }
                LinkMessage::Binary(_) | LinkMessage::Ping | LinkMessage::Pong => binary(),
            });
        }
        leftover_bytes += message.len();
        if leftover_bytes > MAX_LEFTOVER_BYTES {
            return Err(LinkError::Malformed(
                "too much leftover output arrived before the registration".to_owned(),
            ));
        }
    }
}

fn common_version(facts: &Facts) -> Result<u32, LinkError> {
    let VersionRange { min, max } = VersionRange::OURS;
    facts.protocol.common(VersionRange::OURS).ok_or_else(|| {
        let theirs = facts.protocol;
        refused(
            RefusalReason::ProtocolVersion,
            format!(
                "this server speaks protocol {min} to {max}, the runner {} to {}; install the server's version",
                theirs.min, theirs.max
            ),
        )
    })
}

async fn read<L: Link>(link: &mut L) -> Result<LinkMessage, LinkError> {
    link.next().await.ok_or(LinkError::Ended)?.map_err(LinkError::Io)
}

fn parse(text: &str) -> Result<Handshake, LinkError> {
    Handshake::from_text(text).map_err(|error| LinkError::Malformed(error.to_string()))
}

async fn send<L: Link>(link: &mut L, handshake: &Handshake) -> io::Result<()> {
    link.send(LinkMessage::Text(handshake.to_text())).await
}

/// Sends the runner the reason why it was not registered, if possible, and closes the link.
async fn tell_and_close<L: Link>(link: &mut L, error: &LinkError, dialect: Dialect) {
    let refusal = match error {
        LinkError::Refused { reason, message } => Some((*reason, message.clone())),
        LinkError::Malformed(_) | LinkError::HandshakeTimeout => {
            Some((RefusalReason::Malformed, error.to_string()))
        }
        LinkError::Stale
        | LinkError::SentAway
        | LinkError::Ended
        | LinkError::Io(_)
        | LinkError::Broken(_) => None,
    };
    let goodbye = async {
        if let Some((reason, message)) = refusal {
            let body = Refusal { reason, message };
            let text = match dialect {
                Dialect::Sandbridge => Handshake::Error { body }.to_text(),
                Dialect::Xbot => xbot::refusal_text(&body),
            };
            link.send(LinkMessage::Text(text)).await?;
        }
        link.close().await
    };
    // Best effort: do not wait for a peer that does not read.
    if let Ok(Err(error)) = timeout(CLOSE_TIMEOUT, goodbye).await {
        tracing::debug!(%error, "the refusal could not be sent");
    }
}

fn refused(reason: RefusalReason, message: String) -> LinkError {
    LinkError::Refused { reason, message }
}

fn binary() -> LinkError {
    LinkError::Malformed(format!(
        "expected only text of at most {MAX_HANDSHAKE_BYTES} bytes before a registration"
    ))
}
