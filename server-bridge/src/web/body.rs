//! The body of an unauthenticated request: limited in size and time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

use crate::limits::{UNPROVEN_BODY_BYTES, UNPROVEN_BODY_TIMEOUT};
use crate::web::standing::Standing;

/// True if the sender of one request has authenticated.
#[derive(Debug, Clone, Default)]
pub struct Proof(Arc<AtomicBool>);

impl Proof {
    /// Records that the sender has authenticated.
    pub fn give(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// True if the sender has authenticated.
    pub fn is_given(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Why reading a body stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyRefused {
    /// The body is larger than allowed without a login.
    #[error("without a login a request's body can have {UNPROVEN_BODY_BYTES} bytes at most; log in first")]
    TooLarge,
    /// The body did not arrive in time.
    #[error("the request's body did not arrive within {} s", UNPROVEN_BODY_TIMEOUT.as_secs())]
    TooSlow,
}

impl BodyRefused {
    /// The refusal among the causes of an error, if there is one.
    pub fn cause_of(error: &(dyn std::error::Error + 'static)) -> Option<Self> {
        std::iter::successors(Some(error), |error| error.source())
            .find_map(|error| error.downcast_ref::<Self>().copied())
    }
}

/// A body of which little is read until the sender has authenticated.
pub struct GuardedBody<B> {
    body: B,
    proof: Proof,
    standing: Arc<Standing>,
    left_bytes: u64,
    /// The deadline for the whole body; set once the body is awaited.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl<B> GuardedBody<B> {
    /// Guards the `body` of a request on a connection with this standing until `proof` is given.
    pub fn new(body: B, proof: Proof, standing: Arc<Standing>) -> Self {
        Self { body, proof, standing, left_bytes: UNPROVEN_BODY_BYTES, deadline: None }
    }
}

impl<B> Body for GuardedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.proof.is_given() {
            return Pin::new(&mut self.body).poll_frame(context).map_err(Into::into);
        }
        // Checked before any of the body is requested: the head announces its length.
        if self.body.size_hint().lower() > self.left_bytes {
            return Poll::Ready(Some(Err(BodyRefused::TooLarge.into())));
        }
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            self.standing.holds_a_request();
            let deadline = self.deadline.get_or_insert_with(|| Box::pin(sleep(UNPROVEN_BODY_TIMEOUT)));
            ready!(deadline.as_mut().poll(context));
            return Poll::Ready(Some(Err(BodyRefused::TooSlow.into())));
        };
        let size = |frame: &Frame<Bytes>| frame.data_ref().map_or(0, |data| data.len() as u64);
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            self.left_bytes = self.left_bytes.checked_sub(size(&frame)).ok_or(BodyRefused::TooLarge)?;
            Ok(frame)
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;

    use tokio::time::Instant;

    use super::*;
    use crate::web::standing::Lobby;

    /// A body of some pieces, after which it either ends or stalls.
    struct Pieces {
        pieces: VecDeque<usize>,
        ends: bool,
        said_bytes: u64,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match (self.pieces.pop_front(), self.ends) {
                (Some(bytes), _) => Poll::Ready(Some(Ok(Frame::data(vec![0; bytes].into())))),
                (None, true) => Poll::Ready(None),
                (None, false) => Poll::Pending,
            }
        }

        fn size_hint(&self) -> SizeHint {
            let mut hint = SizeHint::new();
            hint.set_lower(self.said_bytes);
            hint
        }
    }

    /// The number of bytes read, or why reading stopped.
    async fn read(body: Pieces, proof: Proof) -> Result<usize, BodyRefused> {
        let standing = Arc::new(Lobby::new(None).enter([192, 0, 2, 1].into()));
        let body = axum::body::Body::new(GuardedBody::new(body, proof, standing));
        let read = axum::body::to_bytes(body, usize::MAX).await;
        read.map(|bytes| bytes.len()).map_err(|error| BodyRefused::cause_of(&error).unwrap())
    }

    fn pieces(pieces: &[usize], ends: bool) -> Pieces {
        Pieces { pieces: pieces.iter().copied().collect(), ends, said_bytes: 0 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_strangers_body_has_its_size_and_its_time() {
        let limit = UNPROVEN_BODY_BYTES as usize;
        assert_eq!(read(pieces(&[limit - 1, 1], true), Proof::default()).await, Ok(limit));
        assert_eq!(read(pieces(&[limit, 1], true), Proof::default()).await, Err(BodyRefused::TooLarge));
        assert_eq!(read(pieces(&[1; 20_000], true), Proof::default()).await, Err(BodyRefused::TooLarge));
        let began = Instant::now();
        assert_eq!(read(pieces(&[1], false), Proof::default()).await, Err(BodyRefused::TooSlow));
        assert!(began.elapsed() >= UNPROVEN_BODY_TIMEOUT && began.elapsed() < 2 * UNPROVEN_BODY_TIMEOUT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_says_to_be_large_is_refused_unread() {
        let body = Pieces { said_bytes: UNPROVEN_BODY_BYTES + 1, ..pieces(&[], false) };
        let began = Instant::now();
        assert_eq!(read(body, Proof::default()).await, Err(BodyRefused::TooLarge));
        assert_eq!(began.elapsed(), std::time::Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn the_body_of_somebody_known_is_left_alone() {
        let proof = Proof::default();
        proof.give();
        assert_eq!(read(pieces(&[1 << 20, 1 << 20], true), proof).await, Ok(2 << 20));
    }
}
