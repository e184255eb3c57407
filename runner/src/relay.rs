//! The common part of requests that the runner makes of others for the server: their bodies, and stopping them.

use std::time::Duration;

use bytes::Bytes;
use proto::limits::MAX_DATA_BYTES;
use proto::{Channel, DataBuf, ErrorKind, WireError};

use crate::stream::{Stopped, StreamHandle};

/// The limits of a request's body.
#[derive(Clone, Copy)]
pub(crate) struct BodyBounds {
    /// The thing that is asked, in words.
    pub(crate) whom: &'static str,
    /// The largest body, in bytes.
    pub(crate) most_bytes: usize,
    /// How long the rest of it may take, in milliseconds without any of it.
    pub(crate) idle_ms: u64,
}

/// The whole body of a request: it is sent with its length.
pub(crate) async fn body(stream: &StreamHandle, bounds: BodyBounds) -> Result<Vec<u8>, WireError> {
    let BodyBounds { whom, most_bytes, idle_ms } = bounds;
    let mut body = Vec::new();
    loop {
        while let Some(piece) = stream.take_data() {
            if body.len() + piece.len() > most_bytes {
                let text = format!("a request to {whom} may have {most_bytes} bytes at most");
                return Err(WireError::new(ErrorKind::TooLarge, text));
            }
            body.extend_from_slice(&piece);
            stream.consumed(piece.len());
        }
        if stream.is_stopped() {
            return Err(Stopped.into());
        }
        if stream.data_ended() {
            return Ok(body);
        }
        let timeout = Duration::from_millis(idle_ms);
        if tokio::time::timeout(timeout, stream.changed()).await.is_err() {
            let text = format!(
                "the rest of the request did not arrive within {} s; nothing was asked",
                timeout.as_secs_f32()
            );
            return Err(WireError::new(ErrorKind::Io, text));
        }
    }
}

/// Passes a piece of an answer on, as credit comes in.
pub(crate) async fn pass_on(stream: &StreamHandle, piece: &Bytes) -> Result<(), Stopped> {
    for part in piece.chunks(MAX_DATA_BYTES) {
        stream.send_data(Channel::Main, DataBuf::copy_from(part)).await?;
    }
    Ok(())
}

/// Gives up, and closes the connection, once the answer is not wanted any more.
pub(crate) async fn unless_stopped<T>(
    stream: &StreamHandle,
    work: impl Future<Output = Result<T, WireError>>,
) -> Result<T, WireError> {
    let stopped = async {
        while !stream.is_stopped() {
            stream.changed().await;
        }
    };
    tokio::select! {
        done = work => done,
        () = stopped => Err(Stopped.into()),
    }
}
