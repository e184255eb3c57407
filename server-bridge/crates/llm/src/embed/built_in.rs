//! The built-in embedder, which runs in this process. Its weights are read when they are first needed.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use e5::{E5, Role};
use search::vectors::Vector;
use tokio::sync::{OnceCell, Semaphore};
use tokio::task::spawn_blocking;

use super::Error;

/// The name of the file of weights, which the build puts next to the program.
pub const WEIGHTS_FILE: &str = "e5-small-q4.bin";

/// The model name under which its vectors are stored.
pub const BUILT_IN_MODEL: &str = "built-in/multilingual-e5-small-q4";

/// The built-in embedder.
#[derive(Debug)]
pub struct BuiltIn {
    weights: PathBuf,
    model: OnceCell<Arc<E5>>,
    /// Passages are embedded one after the other, on one thread; a question does not wait for them.
    passages: Semaphore,
}

impl BuiltIn {
    pub(super) fn new(weights: PathBuf) -> Self {
        Self { weights, model: OnceCell::new(), passages: Semaphore::new(1) }
    }

    /// The error that using the embedder would return now, if the file of weights is absent.
    #[must_use]
    pub fn absent(&self) -> Option<Error> {
        (!self.weights.is_file()).then(|| Error::Absent(self.weights.display().to_string()))
    }

    /// Loads the embedder's weights, unless they are loaded.
    ///
    /// # Errors
    /// [`Error::Absent`] or [`Error::Unusable`]. After an error, the file is read again.
    pub async fn ready(&self) -> Result<Arc<E5>, Error> {
        let load = || async {
            let weights = self.weights.clone();
            let loaded = in_background(move || E5::load(&weights)).await?;
            loaded.map(Arc::new).map_err(|error| match error {
                e5::Error::Read(read) if read.kind() == io::ErrorKind::NotFound => {
                    Error::Absent(self.weights.display().to_string())
                }
                other => Error::Unusable(other.to_string()),
            })
        };
        self.model.get_or_try_init(load).await.cloned()
    }

    pub(super) async fn embed(&self, role: Role, texts: Vec<String>) -> Result<Vec<Vector>, Error> {
        let model = self.ready().await?;
        let mut vectors = Vec::with_capacity(texts.len());
        for text in texts {
            let _turn = match role {
                Role::Passage => self.passages.acquire().await.ok(),
                Role::Query => None,
            };
            let model = Arc::clone(&model);
            let numbers = in_background(move || model.embed(role, &text)).await?;
            vectors.push(Vector::new(&numbers)?);
        }
        Ok(vectors)
    }
}

/// Runs a computation on a thread where blocking is allowed.
async fn in_background<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    spawn_blocking(run)
        .await
        .map_err(|error| Error::Unusable(format!("the built-in embedder stopped: {error}")))
}
