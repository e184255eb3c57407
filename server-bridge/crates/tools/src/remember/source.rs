//! The tools that only users in the mode `letta` have.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use memory::Mode;
use store::{ChatId, User};

use super::letta::{Append, Find, Insert, Recall, Replace};
use crate::Services;
use agent::tool::{Tool, ToolSource, Typed};

/// The tools of the mode `letta`.
pub(crate) struct LettaTools(pub(crate) Services);

impl ToolSource for LettaTools {
    fn tools<'a>(&'a self, user: &'a User, _chat: &'a ChatId) -> BoxFuture<'a, Vec<Arc<dyn Tool>>> {
        Box::pin(async move {
            let mode = Mode::of(&self.0.store, user.id).await.unwrap_or_else(|error| {
                tracing::warn!(%error, "the memory mode cannot be read; the tools of the mode letta are left out");
                Mode::default()
            });
            if mode != Mode::Letta {
                return Vec::new();
            }
            let services = &self.0;
            vec![
                Arc::new(Typed::<Append>::new(services.clone())) as Arc<dyn Tool>,
                Arc::new(Typed::<Replace>::new(services.clone())),
                Arc::new(Typed::<Insert>::new(services.clone())),
                Arc::new(Typed::<Find>::new(services.clone())),
                Arc::new(Typed::<Recall>::new(services.clone())),
            ]
        })
    }
}
