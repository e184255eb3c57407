//! Work that blocks, away from the thread that runs everything else.

use proto::{ErrorKind, WireError};

/// Runs `work` on a thread for blocking calls; fails only when that thread panicked or the runner stops.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, WireError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| {
        WireError::new(ErrorKind::Internal, "the runner gave up on this request; its log says why")
    })
}
