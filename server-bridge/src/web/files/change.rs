//! Changes to files, with their audit entries.

use sandbox::Sandbox;

use crate::web::auth::Caller;
use crate::web::error::ApiError;
use crate::web::state::AppState;

/// An audited change to files.
pub(in crate::web) struct Change<'a> {
    pub(in crate::web) state: &'a AppState,
    pub(in crate::web) caller: &'a Caller,
    /// The requested place instead of the active one.
    pub(in crate::web) on: Option<&'a str>,
    /// The name of the action in the audit trail.
    pub(in crate::web) action: &'static str,
    pub(in crate::web) path: &'a [u8],
}

impl Change<'_> {
    /// Makes the change in the caller's sandbox. The result is audited, and so is a request for which there is no sandbox.
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
