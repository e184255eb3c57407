//! Which model a turn asks, when it may begin, and what stands in for a model that is not there.

use llm::Reply;
use store::TurnStatus;

use super::{End, Progress, Turn};
use crate::context::Conversation;
use crate::engine::agents::Errand;
use crate::engine::show::AgentDocument;
use crate::models::Lineup;

impl Turn<'_> {
    /// What its chat asks now; a sub-agent what the user's chat does, or the tier it was called with.
    pub(super) async fn lineup(&self) -> Result<Lineup, End> {
        let (root, tier) = (self.lineage.root(), self.lineage.errand().and_then(Errand::tier));
        let found = self.service.engine.models.of_chat(self.service, self.user, root, tier).await;
        found.map_err(|error| match error {
            crate::Error::Store(error) => End::Store(error),
            other => End::Failed(other.to_string()),
        })
    }

    /// Waits until it may begin, and says so where it takes a while. `false`: the server stops, and the turn is still queued
    /// on record for the server's next life.
    pub(super) async fn is_admitted(&self, lineup: &Lineup) -> Result<bool, End> {
        if self.lineage.errand().is_some() {
            // It works in the place of the turn that it is a part of.
            return Ok(true);
        }
        let place = self.lineage.put_in(self.service.engine.models.place(self.user.id, lineup.setup.kind));
        if place.try_take() {
            return Ok(true);
        }
        // Told first: what is said from here on is of this answer.
        self.screen().change(self.waiting.message, "", &AgentDocument::waiting()).await?;
        self.screen()
            .notice("⏳ Other answers are under way; this one begins when one of them ends.")
            .await?;
        tokio::select! {
            () = place.take() => Ok(true),
            () = self.cancelled.cancelled() => Err(End::Cancelled),
            () = self.service.stop.cancelled() => Ok(false),
        }
    }

    /// Asks, and where the model is not there the next one that stands in for it, for the rest of the turn.
    pub(super) async fn ask_any(
        &self,
        lineup: &mut Lineup,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<Reply, End> {
        loop {
            let error = match self.ask(&lineup.setup, conversation, progress).await {
                Err(End::NotAnswered(error)) => error,
                answered => return answered,
            };
            if !self.stand_in(&error, lineup, conversation).await? {
                return Err(End::NotAnswered(error));
            }
            if let Some(message) = progress.void {
                let nothing = AgentDocument::reply(TurnStatus::Running);
                self.screen().change(message, "", &nothing).await?;
            }
        }
    }

    /// Lets the next model stand in for one that is not there, for the rest of the turn, and says so; `false` where there is none.
    pub(super) async fn stand_in(
        &self,
        error: &llm::Error,
        lineup: &mut Lineup,
        conversation: &mut Conversation,
    ) -> Result<bool, End> {
        if lineup.others.is_empty() {
            return Ok(false);
        }
        let next = lineup.others.remove(0);
        let told = format!("⚠️ {}: {error}. {} answers instead.", lineup.setup.origin(), next.origin());
        self.screen().notice(&told).await?;
        conversation.turn_to(&next.origin(), next.window_tokens, |request| super::aim(request, &next));
        lineup.setup = next;
        Ok(true)
    }
}
