//! Embedders: turn texts into vectors, in this process or at a provider.
//!
//! ```text
//!   texts ──▶ built in: crate `e5`, one thread                          ──▶ checked ──▶ search::vectors::Vector
//!         └─▶ remote: batches ──▶ Protocol (OpenAI, Ollama) ──▶ Transport ──┘
//! ```
//!
//! [`Guarded`] leaves an embedder alone for a while after a failure.
//! Only vectors of the same model can be compared: [`Embedder::model`] is the key under which they are stored. A search that gets an
//! [`Error`] continues with words alone, and shows the error's text.

mod built_in;
mod guarded;
mod wire;

use std::sync::Arc;
use std::sync::OnceLock;

use futures_util::StreamExt;
use search::vectors::Vector;
use tokio::time::{Instant, sleep, timeout_at};

use crate::dialect::refusal;
use crate::limits::{
    ANSWER_BYTES, EMBEDDING_BATCH_BYTES, EMBEDDING_BATCH_TEXTS, EMBEDDING_TIMEOUT, REFUSAL_BYTES,
};
use crate::retry::Patience;
use crate::transport::{Answer, Transport};

pub use built_in::{BUILT_IN_MODEL, BuiltIn, WEIGHTS_FILE};
pub use e5::Role;
pub use guarded::{Embedders, Guarded, Rest};
pub use wire::Protocol;

/// The reason why there are no vectors.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file of the built-in embedder is absent; contains its path.
    #[error(
        "the built-in embedder's file {0} is not installed; put it there with scripts/build, or choose another embedder"
    )]
    Absent(String),
    /// The file cannot be used; contains the reason.
    #[error("{0}")]
    Unusable(String),
    /// The provider did not answer; contains the reason.
    #[error("the embedder does not answer: {0}; check its subscription, or choose another embedder")]
    Provider(#[from] crate::Error),
    /// The number of vectors in the provider's response is not the number of texts that were sent.
    #[error("the embedder returned {found} vectors for {expected} texts; choose another model")]
    Count {
        /// The number of texts.
        expected: usize,
        /// The number of vectors.
        found: usize,
    },
    /// One of the vectors is invalid, or has other dimensions than the vectors before it.
    #[error("the embedder returned an unusable vector ({0}); choose another model")]
    Vector(#[from] search::vectors::Error),
}

/// Separates the name of a model from its provider, in the key under which the model's vectors are stored.
const AT_PROVIDER: char = '@';

/// The key under which earlier versions stored the vectors of this key's model; `None` for the built-in model.
#[must_use]
pub fn key_without_provider(key: &str) -> Option<&str> {
    key.rsplit_once(AT_PROVIDER).map(|(before, _)| before)
}

/// An embedder, which turns texts into vectors. Cheap to clone; all clones share their state.
#[derive(Clone, Debug)]
pub enum Embedder {
    /// The built-in embedder, in this process.
    BuiltIn(Arc<BuiltIn>),
    /// An embedder at a provider.
    Remote(Arc<Remote>),
}

/// A provider's model.
pub struct Remote {
    protocol: Protocol,
    transport: Box<dyn Transport>,
    model: String,
    /// The key under which its vectors are stored.
    key: String,
    patience: Patience,
    /// The dimensions of its vectors, once one is known.
    dimensions: OnceLock<usize>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Remote").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Error {
    /// The error's name for programs and for the log.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Absent(_) => "embedder_absent",
            Self::Unusable(_) => "embedder_unusable",
            Self::Provider(error) => error.kind(),
            Self::Count { .. } => "embedding_count",
            Self::Vector(_) => "embedding_vector",
        }
    }

    /// True if a later attempt with the same texts may succeed.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Provider(error) if error.is_passing())
    }
}

impl Embedder {
    /// The built-in embedder with the weights in the file `path`, which is read at the first use.
    #[must_use]
    pub fn built_in(weights: impl Into<std::path::PathBuf>) -> Self {
        Self::BuiltIn(Arc::new(BuiltIn::new(weights.into())))
    }

    /// The model of a provider. `provider` tells providers apart whose models have the same name, such as the address without its scheme:
    /// it is part of the key under which vectors are stored. `dimensions` are those of its earlier vectors, and vectors with other dimensions are refused; `None` takes the
    /// dimensions of its first vector.
    #[must_use]
    pub fn remote(
        protocol: Protocol,
        transport: impl Transport + 'static,
        provider: &str,
        model: &str,
        dimensions: Option<usize>,
    ) -> Self {
        let known = OnceLock::new();
        if let Some(dimensions) = dimensions {
            // The cell is empty, so this cannot fail.
            let _ = known.set(dimensions);
        }
        Self::Remote(Arc::new(Remote {
            protocol,
            transport: Box::new(transport),
            model: model.to_owned(),
            key: format!("{}/{model}{AT_PROVIDER}{provider}", protocol.as_str()),
            patience: Patience::default(),
            dimensions: known,
        }))
    }

    /// This embedder with other retries. The built-in embedder has no retries.
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        match self {
            Self::Remote(remote) => {
                let remote = Arc::into_inner(remote).map(|remote| Remote { patience, ..remote });
                Self::Remote(Arc::new(remote.expect("an embedder gets its patience before it is shared")))
            }
            built_in @ Self::BuiltIn(_) => built_in,
        }
    }

    /// The model's name, under which its vectors are stored: `built-in/multilingual-e5-small-q4`, `openai/NAME@PROVIDER`,
    /// `ollama/NAME@PROVIDER`.
    #[must_use]
    pub fn model(&self) -> &str {
        match self {
            Self::BuiltIn(_) => BUILT_IN_MODEL,
            Self::Remote(remote) => &remote.key,
        }
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// Any of [`Error`].
    pub async fn query(&self, text: &str) -> Result<Vector, Error> {
        self.query_with(self.patience(), text).await
    }

    async fn query_with(&self, patience: Patience, text: &str) -> Result<Vector, Error> {
        let vectors = self.embed(Role::Query, vec![text.to_owned()], patience).await?;
        let found = vectors.len();
        vectors.into_iter().next().ok_or(Error::Count { expected: 1, found })
    }

    /// The vectors of passages, in the order of the passages. This can take a long time; the future can be dropped between two batches.
    ///
    /// # Errors
    /// Any of [`Error`]; then no vector is returned.
    pub async fn passages(&self, texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        self.embed(Role::Passage, texts, self.patience()).await
    }

    async fn embed(&self, role: Role, texts: Vec<String>, patience: Patience) -> Result<Vec<Vector>, Error> {
        match self {
            Self::BuiltIn(built_in) => built_in.embed(role, texts).await,
            Self::Remote(remote) => remote.embed(role, &texts, patience).await,
        }
    }

    fn patience(&self) -> Patience {
        match self {
            Self::BuiltIn(_) => Patience::default(),
            Self::Remote(remote) => remote.patience,
        }
    }
}

impl Remote {
    async fn embed(&self, role: Role, texts: &[String], patience: Patience) -> Result<Vec<Vector>, Error> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in batches(texts) {
            for numbers in self.batch(role, batch, patience).await? {
                vectors.push(self.checked(&numbers)?);
            }
        }
        Ok(vectors)
    }

    fn checked(&self, numbers: &[f32]) -> Result<Vector, Error> {
        let vector = Vector::new(numbers)?;
        let (found, expected) = (vector.dimensions(), *self.dimensions.get_or_init(|| vector.dimensions()));
        if found == expected {
            Ok(vector)
        } else {
            Err(search::vectors::Error::Dimension { expected, found }.into())
        }
    }

    /// Repeats the request until it succeeds, or until another attempt is pointless.
    async fn batch(&self, role: Role, texts: &[String], patience: Patience) -> Result<Vec<Vec<f32>>, Error> {
        let mut failed = 0;
        loop {
            let error = match self.ask(role, texts).await {
                Ok(numbers) if numbers.len() == texts.len() => return Ok(numbers),
                Ok(numbers) => return Err(Error::Count { expected: texts.len(), found: numbers.len() }),
                Err(error) => error,
            };
            failed += 1;
            let pause = patience.pause_after(failed, &error, rand::random());
            let Some(pause) = pause else { return Err(error.into()) };
            tracing::info!(%error, failed, ?pause, "an embedder did not answer");
            sleep(pause).await;
        }
    }

    /// Sends the request once.
    async fn ask(&self, role: Role, texts: &[String]) -> Result<Vec<Vec<f32>>, crate::Error> {
        let end = Instant::now() + EMBEDDING_TIMEOUT;
        let late = || crate::Error::Timeout(format!("no vectors after {} s", EMBEDDING_TIMEOUT.as_secs()));
        let call = self.protocol.write(&self.model, role, texts);
        let answered = async {
            let answer = self.transport.send(call).await?;
            let (status, retry_after_s) = (answer.status, answer.retry_after_s);
            if (200..300).contains(&status) {
                let body = whole(answer, ANSWER_BYTES).await?;
                let body = body.ok_or(crate::Error::Nonsense("vectors of more than 32 MiB"))?;
                return self.protocol.read(&body);
            }
            let body = whole(answer, REFUSAL_BYTES).await?.unwrap_or_default();
            Err(refusal(status, &body, retry_after_s))
        };
        timeout_at(end, answered).await.map_err(|_| late())?
    }
}

/// A response's body; `None` if it has more bytes than the limit.
async fn whole(mut answer: Answer, limit: usize) -> Result<Option<Vec<u8>>, crate::Error> {
    let mut body = Vec::new();
    while let Some(bytes) = answer.body.next().await {
        body.extend_from_slice(&bytes?);
        if body.len() > limit {
            return Ok(None);
        }
    }
    Ok(Some(body))
}

/// The number of texts for one request: limited in number and in bytes, but at least one.
fn batches(texts: &[String]) -> impl Iterator<Item = &[String]> {
    let mut rest = texts;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |text: &&String| {
            bytes += text.len();
            bytes <= EMBEDDING_BATCH_BYTES
        };
        let count = rest.iter().take(EMBEDDING_BATCH_TEXTS).take_while(fits).count().max(1).min(rest.len());
        let (batch, others) = rest.split_at(count);
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_has_as_many_texts_as_one_request_may_have() {
        let sizes = |texts: &[String]| batches(texts).map(<[String]>::len).collect::<Vec<_>>();
        assert!(sizes(&[]).is_empty());
        assert_eq!(sizes(&vec!["a".to_owned(); 150]), [64, 64, 22]);
        let (long, half) = ("x".repeat(EMBEDDING_BATCH_BYTES + 1), "x".repeat(EMBEDDING_BATCH_BYTES / 2));
        assert_eq!(
            sizes(&[half.clone(), half.clone(), half.clone(), long.clone(), long, half]),
            [2, 1, 1, 1, 1]
        );
    }
}
