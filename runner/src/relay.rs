//! The common part of requests that the runner sends for the server: receiving their bodies, passing on responses, and stopping them.

use std::time::Duration;

use bytes::Bytes;
use proto::limits::MAX_DATA_BYTES;
use proto::{Channel, DataBuf, ErrorKind, WireError};

use crate::stream::{Stopped, StreamHandle};

/// The limits of a request's body.
#[derive(Clone, Copy)]
pub(crate) struct BodyBounds {
    /// The receiver of the request, in words.
    pub(crate) whom: &'static str,
    /// The largest body, in bytes.
    pub(crate) most_bytes: usize,
    /// The longest wait for the next piece of the body, in milliseconds.
    pub(crate) idle_ms: u64,
}

/// Receives the whole body of a request, since it is sent on with its length.
pub(crate) async fn body(stream: &StreamHandle, bounds: BodyBounds) -> Result<Vec<u8>, WireError> {
    let BodyBounds { whom, most_bytes, idle_ms } = bounds;
    let mut body = Vec::new();
    loop {
        while let Some(piece) = stream.take_data() {
            if body.len() + piece.len() > most_bytes {
                let text = format!("a request to {whom} can have at most {most_bytes} bytes; send less");
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
                "the rest of the request did not arrive within {} s; nothing was sent on, try again",
                timeout.as_secs_f32()
            );
            return Err(WireError::new(ErrorKind::Io, text));
        }
    }
}

/// Passes on a piece of a response, as the stream's credit allows.
pub(crate) async fn pass_on(stream: &StreamHandle, piece: &Bytes) -> Result<(), Stopped> {
    for part in piece.chunks(MAX_DATA_BYTES) {
        stream.send_data(Channel::Main, DataBuf::copy_from(part)).await?;
    }
    Ok(())
}

/// Does the work, and gives it up when the stream is stopped, which closes the connection.
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
