//! An embedder that is not asked for a while after it failed, so that no search waits for an unavailable embedder.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use search::vectors::Vector;
use tokio::time::{Instant, timeout};

use super::{Embedder, Error};
use crate::limits::{EMBEDDER_REST, EMBEDDER_REST_LIMIT, QUERY_EMBEDDING_TIMEOUT};
use crate::retry::Patience;

/// The text that is embedded as a trial.
const TRIAL: &str = "ready";

/// Returns the server's embedder (the one that is set now, or the one that an earlier setting named), or the reason why
/// it cannot be used.
pub type Embedders =
    Arc<dyn Fn(Option<String>) -> BoxFuture<'static, Result<Option<Guarded>, String>> + Send + Sync>;

/// The pauses of one embedder. Cheap to clone; all clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Rest(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// The number of consecutive failures.
    failed: u32,
    /// The last failure, and the end of the pause after it.
    last: Option<(Error, Instant)>,
}

/// An embedder and its pauses.
#[derive(Clone, Debug)]
pub struct Guarded {
    embedder: Embedder,
    setting: String,
    rest: Rest,
}

impl Rest {
    /// The last failure and the remaining pause after it, if the pause is not over.
    #[must_use]
    pub fn left(&self) -> Option<(Error, Duration)> {
        let now = Instant::now();
        let state = self.state();
        let (error, until) = state.last.as_ref()?;
        (*until > now).then(|| (error.clone(), *until - now))
    }

    /// The last failure, if nothing has succeeded since.
    #[must_use]
    pub fn failure(&self) -> Option<Error> {
        self.state().last.as_ref().map(|(error, _)| error.clone())
    }

    fn begin(&self, error: &Error) {
        let mut state = self.state();
        let pause = EMBEDDER_REST.saturating_mul(2u32.saturating_pow(state.failed)).min(EMBEDDER_REST_LIMIT);
        if state.failed == 0 {
            tracing::warn!(%error, "the embedder failed; until it answers again, search uses words alone");
        }
        state.failed += 1;
        state.last = Some((error.clone(), Instant::now() + pause));
    }

    fn end(&self) {
        let mut state = self.state();
        if state.failed > 0 {
            tracing::info!("the embedder answers again");
            *state = State::default();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is replaced as a whole, so it stays consistent if another thread panics.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guarded {
    /// Guards an embedder that has these pauses. `setting` identifies it in the server's settings.
    #[must_use]
    pub fn new(embedder: Embedder, setting: String, rest: Rest) -> Self {
        Self { embedder, setting, rest }
    }

    /// The model's name; see [`Embedder::model`].
    #[must_use]
    pub fn model(&self) -> &str {
        self.embedder.model()
    }

    /// The embedder's identifier in the server's settings.
    #[must_use]
    pub fn setting(&self) -> &str {
        &self.setting
    }

    /// True for an embedder in this process.
    #[must_use]
    pub fn is_built_in(&self) -> bool {
        matches!(self.embedder, Embedder::BuiltIn(_))
    }

    /// The pauses of this embedder.
    #[must_use]
    pub fn rest(&self) -> &Rest {
        &self.rest
    }

    /// The vector of a question, within 3 s, because a user waits for it. Any failure begins a pause, in which it is not asked.
    ///
    /// # Errors
    /// Any of [`Error`]; during a pause, the failure before it.
    pub async fn query(&self, text: &str) -> Result<Vector, Error> {
        if let Some((error, _)) = self.rest.left() {
            return Err(error);
        }
        let once = Patience { attempts: 1, ..Patience::default() };
        let asked = timeout(QUERY_EMBEDDING_TIMEOUT, self.embedder.query_with(once, text)).await;
        let late = || {
            let seconds = QUERY_EMBEDDING_TIMEOUT.as_secs();
            Err(crate::Error::Timeout(format!(
                "the embedder returned no vector for the question within {seconds} s"
            ))
            .into())
        };
        let result = asked.unwrap_or_else(|_| late());
        self.note(result.as_ref().err());
        result
    }

    /// The vectors of passages, in their order; `None` for a passage that the embedder refuses while it accepts others. All have `dimensions`
    /// numbers, or as many as the first one. This can take a long time. A failure of the embedder itself begins a pause.
    ///
    /// # Errors
    /// Any of [`Error`]: the embedder's failure; then no vector is returned.
    pub async fn passages(
        &self,
        texts: Vec<String>,
        dimensions: Option<usize>,
    ) -> Result<Vec<Option<Vector>>, Error> {
        let result = self.carefully(texts, dimensions).await;
        self.note(result.as_ref().err());
        result
    }

    async fn carefully(
        &self,
        texts: Vec<String>,
        dimensions: Option<usize>,
    ) -> Result<Vec<Option<Vector>>, Error> {
        match self.checked(texts.clone(), dimensions).await {
            Ok(vectors) => return Ok(vectors.into_iter().map(Some).collect()),
            Err(error) if is_its_own(&error) => return Err(error),
            Err(error) => tracing::info!(%error, "an embedder refuses some texts; they are tried one by one"),
        }
        // The cause may be the texts or the embedder: one trial text shows which.
        let trial = self.checked(vec![TRIAL.to_owned()], dimensions).await?;
        let dimensions = dimensions.or_else(|| trial.first().map(Vector::dimensions));
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            vectors.push(match self.checked(vec![text], dimensions).await {
                Ok(mut one) => one.pop(),
                Err(error) if is_its_own(&error) => return Err(error),
                Err(error) => {
                    tracing::warn!(%error, "an embedder refuses a text, which is found by its words alone");
                    None
                }
            });
        }
        Ok(vectors)
    }

    /// Vectors that all have the same dimension.
    async fn checked(&self, texts: Vec<String>, dimensions: Option<usize>) -> Result<Vec<Vector>, Error> {
        let vectors = self.embedder.passages(texts).await?;
        let expected = dimensions.or_else(|| vectors.first().map(Vector::dimensions)).unwrap_or_default();
        match vectors.iter().map(Vector::dimensions).find(|found| *found != expected) {
            None => Ok(vectors),
            Some(found) => Err(search::vectors::Error::Dimension { expected, found }.into()),
        }
    }

    /// Begins a pause after a failure; `None` ends the current one.
    fn note(&self, failure: Option<&Error>) {
        match failure {
            Some(error) => self.rest.begin(error),
            None => self.rest.end(),
        }
    }
}

/// True for a failure that other texts would cause, too.
fn is_its_own(error: &Error) -> bool {
    let is_other_dimension = matches!(error, Error::Vector(search::vectors::Error::Dimension { .. }));
    error.is_passing() || is_other_dimension || matches!(error, Error::Absent(_) | Error::Unusable(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_that_failed_is_left_alone_longer_each_time() {
        let directory = tempfile::tempdir().unwrap();
        let embedder = Embedder::built_in(directory.path().join("none.bin"));
        let guarded = Guarded::new(embedder, "built-in".to_owned(), Rest::default());
        assert!(guarded.is_built_in() && guarded.rest().left().is_none());
        let mut pauses = Vec::new();
        for _ in 0..6 {
            let error = guarded.query("text").await.unwrap_err();
            let (told, left) = guarded.rest().left().unwrap();
            assert_eq!(told, error);
            pauses.push(left.as_secs_f64().round());
            // During the pause, the same error is returned at once.
            assert_eq!(guarded.query("text").await.unwrap_err(), error);
            tokio::time::advance(left + Duration::from_millis(1)).await;
            assert!(guarded.rest().left().is_none() && guarded.rest().failure().is_some());
        }
        assert_eq!(pauses, [5.0, 10.0, 20.0, 40.0, 60.0, 60.0]);
        guarded.note(None);
        assert_eq!(guarded.rest().failure(), None);
    }
}
