//! What a turn does for a call of a tool under way.

use futures_util::future::BoxFuture;
use sandbox::{Sandbox, Wish};
use store::MessageId;
use tokio::time::timeout;

use super::Turn;
use crate::engine::ShownCall;
use crate::engine::agents;
use crate::limits::QUESTION_PATIENCE;
use crate::place::sandbox_user;
use crate::tool::{DelegationRequest, Failure, Host, Outcome};

/// A call's own way to its turn.
pub(super) struct CallHost<'a> {
    pub(super) turn: &'a Turn<'a>,
    /// Where the turn works; fixed at its beginning.
    pub(super) wish: &'a Wish,
    /// What shows the call.
    pub(super) card: MessageId,
    pub(super) shown: ShownCall<'a>,
}

impl Host for CallHost<'_> {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        Box::pin(async {
            let Turn { service, user, .. } = self.turn;
            Ok(service.router.for_user(&sandbox_user(user), self.wish).await?)
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a str,
        options: &'a [String],
    ) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async move {
            let mut asking = self.shown.ask(question, options).await?;
            let answered = timeout(QUESTION_PATIENCE, asking.words()).await;
            self.shown.goes_on().await?;
            Ok(answered.ok().flatten())
        })
    }

    fn delegate<'a>(&'a self, request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        let Turn { service, user, chat, cancelled, lineage, .. } = *self.turn;
        let caller =
            agents::Caller { service, user, chat, lineage, cancelled, card: self.card, wish: self.wish };
        Box::pin(agents::call(request, caller))
    }
}
