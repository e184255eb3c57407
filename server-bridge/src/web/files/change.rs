//! Changes to files, and their trace.

use sandbox::Sandbox;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// Something that changes files, and leaves a trace of itself.
pub(in crate::web) struct Change<'a> {
    pub(in crate::web) state: &'a AppState,
    pub(in crate::web) caller: &'a Caller,
    /// The place that was asked for instead of the active one.
    pub(in crate::web) on: Option<&'a str>,
    /// The audit trail's word for it.
    pub(in crate::web) action: &'static str,
    pub(in crate::web) path: &'a [u8],
}

impl Change<'_> {
    /// Makes it in the caller's sandbox. The audit trail learns what came of it, and of a request for a sandbox that there
    /// is none for.
    pub(in crate::web) async fn make<T>(
        &self,
        work: impl AsyncFnOnce(Sandbox) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let Self { state, caller, on, action, path } = *self;
        let (place, done) = match state.sandbox(&caller.user, on).await {
            Ok(sandbox) => (Some(sandbox.place().to_owned()), work(sandbox).await),
            Err(error) => (state.place_asked_for(&caller.user, on).await, Err(error)),
        };
        let outcome = done.as_ref().map_or_else(|error| error.kind, |_| "ok");
        let path = String::from_utf8_lossy(path);
        state.audit(Some(&caller.user.name), action, place.as_deref(), &path, outcome).await;
        done
    }
}
