//! A dialect over a transport: one attempt at an answer.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use sse::Events;
use tokio::time::{Instant, timeout_at};

use crate::dialect::Dialect;
use crate::draft::Draft;
use crate::error::Error;
use crate::limits::{ANSWER_BYTES, ATTEMPT_LIMIT, ATTEMPT_TIMEOUT, LISTING_BYTES, REFUSAL_BYTES};
use crate::listing::read_listing;
use crate::message::Request;
use crate::reply::{Assembly, Delta, Reply};
use crate::transport::{Answer, Transport};

/// A provider, ready to be asked.
#[derive(Clone)]
pub struct Model {
    dialect: Arc<dyn Dialect>,
    transport: Arc<dyn Transport>,
    deadlines: Deadlines,
}

/// The deadlines of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadlines {
    /// The limit on silence: before the answer begins, and between two pieces of it.
    pub silence: Duration,
    /// The limit on the whole attempt.
    pub whole: Duration,
}

impl Default for Deadlines {
    fn default() -> Self {
        Self { silence: ATTEMPT_TIMEOUT, whole: ATTEMPT_LIMIT }
    }
}

/// The deadlines of an attempt in progress; it is given up at the first that passes.
struct Ends {
    silence: Duration,
    whole: Duration,
    at: Instant,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Model").finish_non_exhaustive()
    }
}

impl Model {
    /// A model with that dialect and transport.
    pub fn new(dialect: impl Dialect + 'static, transport: impl Transport + 'static) -> Self {
        let deadlines = Deadlines::default();
        Self { dialect: Arc::new(dialect), transport: Arc::new(transport), deadlines }
    }

    /// The model with other deadlines.
    #[must_use]
    pub fn with_deadlines(self, deadlines: Deadlines) -> Self {
        Self { deadlines, ..self }
    }

    /// Asks once; `each` gets every piece as it arrives.
    ///
    /// Dropping the future closes the connection to the provider.
    ///
    /// # Errors
    /// Any of [`Error`]; the pieces that arrived before it must be discarded.
    pub async fn ask(
        &self,
        request: &Request,
        draft: &mut Draft,
        mut each: impl FnMut(&Delta),
    ) -> Result<Reply, Error> {
        let Deadlines { silence, whole } = self.deadlines;
        let ends = &Ends { silence, whole, at: Instant::now() + whole };
        let sent = self.transport.send(self.dialect.write(request, draft));
        let answer = alive(ends, sent).await??;
        if !(200..300).contains(&answer.status) {
            return Err(self.refused(answer, ends).await);
        }
        let mut body = answer.body;
        let (mut events, mut decoder) = (Events::default(), self.dialect.decoder());
        let (mut assembly, mut deltas, mut received) = (Assembly::default(), Vec::new(), 0);
        while let Some(bytes) = alive(ends, body.next()).await? {
            let bytes = bytes?;
            received += bytes.len();
            if received > ANSWER_BYTES {
                return Err(Error::Nonsense("an answer of more than 32 MiB"));
            }
            let is_over = events.push(&bytes, |data| {
                let is_over = decoder.read(data, &mut deltas)?;
                for delta in deltas.drain(..) {
                    assembly.push(&delta)?;
                    each(&delta);
                }
                Ok::<_, Error>(is_over)
            })?;
            if is_over {
                break;
            }
        }
        assembly.finish()
    }

    /// Requests the names of the provider's models, in its order; `None` if it has no list.
    ///
    /// # Errors
    /// Any of [`Error`].
    pub async fn list(&self) -> Result<Option<Vec<String>>, Error> {
        let Deadlines { silence, whole } = self.deadlines;
        let ends = &Ends { silence, whole, at: Instant::now() + whole };
        let answer = alive(ends, self.transport.send(self.dialect.listing())).await??;
        match answer.status {
            200..300 => {}
            // Not found, no such method, not implemented.
            404 | 405 | 501 => return Ok(None),
            _ => return Err(self.refused(answer, ends).await),
        }
        let (mut body, mut listing) = (answer.body, Vec::new());
        while let Some(bytes) = alive(ends, body.next()).await? {
            listing.extend_from_slice(&bytes?);
            if listing.len() > LISTING_BYTES {
                return Err(Error::Nonsense("a list of models larger than 8 MiB"));
            }
        }
        read_listing(&listing).map(Some)
    }

    async fn refused(&self, answer: Answer, ends: &Ends) -> Error {
        match beginning(answer.body, ends).await {
            Ok(body) => self.dialect.refusal(answer.status, &body, answer.retry_after_s),
            Err(error) => error,
        }
    }
}

/// Waits for a sign of life, within the deadlines of the attempt.
async fn alive<T>(ends: &Ends, sign: impl Future<Output = T>) -> Result<T, Error> {
    let silence = Instant::now() + ends.silence;
    timeout_at(silence.min(ends.at), sign).await.map_err(|_| {
        Error::Timeout(if silence < ends.at {
            format!("nothing arrived for {} s", ends.silence.as_secs_f32())
        } else {
            format!("no end after {} s", ends.whole.as_secs_f32())
        })
    })
}

/// The beginning of a refusal; a partial one is enough.
async fn beginning(
    mut body: BoxStream<'static, Result<bytes::Bytes, Error>>,
    ends: &Ends,
) -> Result<Vec<u8>, Error> {
    let mut kept = Vec::new();
    while kept.len() < REFUSAL_BYTES
        && let Some(Ok(bytes)) = alive(ends, body.next()).await?
    {
        kept.extend_from_slice(&bytes[..bytes.len().min(REFUSAL_BYTES - kept.len())]);
    }
    Ok(kept)
}
