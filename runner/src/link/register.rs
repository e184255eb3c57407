//! The registration: three text frames that turn a connection into a link.

use std::time::Duration;

use proto::handshake::{Accepted, Handshake, Ready, Refusal, Register};
use proto::limits::HANDSHAKE_TIMEOUT;

use super::LinkError;
use crate::error::Error;

/// A connection that still speaks text.
#[allow(async_fn_in_trait)] // Both implementations are used on one thread.
pub trait TextLink {
    /// Sends one text frame and flushes it.
    async fn send_text(&mut self, text: String) -> Result<(), LinkError>;

    /// The next text frame.
    async fn next_text(&mut self) -> Result<String, LinkError>;
}

/// The reason why a registration failed.
#[derive(Debug, thiserror::Error)]
pub enum RegisterError {
    /// The server refused.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// The server only supports this runner's older dialect.
    #[error("the server does not speak Sandbridge's protocol: update the server")]
    NoExtension,
    /// The server sent something else.
    #[error("the server's response is not a registration: {0}")]
    Malformed(String),
    /// The server did not answer in time.
    #[error("the server did not answer within {} s", HANDSHAKE_TIMEOUT.as_secs())]
    Silent,
    /// The token that replaces a one-time token cannot be stored. The one-time token still works, for this runner.
    #[error("the token from the server cannot be saved: {0}")]
    Token(Error),
    /// The connection failed.
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// Registers on a fresh connection; afterwards only binary frames travel.
///
/// A permanent token for the runner is handed to `keep` before the runner reports that it is ready.
///
/// # Errors
/// See [`RegisterError`]; the connection is unusable after one.
pub async fn register(
    link: &mut impl TextLink,
    register: &Register,
    keep: impl AsyncFnOnce(&str) -> Result<(), Error>,
) -> Result<Accepted, RegisterError> {
    let exchange = async {
        let accepted = ask(link, register).await?;
        if let Some(token) = &accepted.token {
            keep(token).await.map_err(RegisterError::Token)?;
        }
        let ready = Ready { epoch: accepted.epoch, nonce: accepted.nonce };
        link.send_text(Handshake::Ready { body: ready }.to_text()).await?;
        Ok(accepted)
    };
    in_time(exchange).await
}

/// Registers up to the server's answer, as a check: a token that came with it is not stored, and the link is not used afterwards.
///
/// # Errors
/// See [`RegisterError`].
pub async fn introduce(link: &mut impl TextLink, register: &Register) -> Result<Accepted, RegisterError> {
    in_time(ask(link, register)).await
}

async fn in_time(
    exchange: impl Future<Output = Result<Accepted, RegisterError>>,
) -> Result<Accepted, RegisterError> {
    let timeout: Duration = HANDSHAKE_TIMEOUT;
    tokio::time::timeout(timeout, exchange).await.map_err(|_| RegisterError::Silent)?
}

async fn ask(link: &mut impl TextLink, register: &Register) -> Result<Accepted, RegisterError> {
    let introduce =
        Handshake::Register { user_id: register.user_id.clone(), body: Box::new(register.clone()) };
    link.send_text(introduce.to_text()).await?;
    loop {
        let text = link.next_text().await?;
        match Handshake::from_text(&text).map_err(|error| RegisterError::Malformed(error.to_string()))? {
            Handshake::RegisterOk { body } => return body.sandbridge.ok_or(RegisterError::NoExtension),
            Handshake::Error { body } => return Err(RegisterError::Refused(body)),
            // The server that asked before has disconnected.
            Handshake::Attach {} => link.send_text(introduce.to_text()).await?,
            Handshake::Register { .. } | Handshake::Ready { .. } => {
                return Err(RegisterError::Malformed("only a runner sends this message".to_owned()));
            }
        }
    }
}
