//! The choice of a turn's model, the wait to begin, and the stand-ins for a model that is unavailable.

use llm::Reply;
use records::TurnStatus;

use super::{End, Progress, Turn};
use crate::Cause;
use crate::context::Conversation;
use crate::engine::agents::Delegation;
use crate::engine::ports::ReplyState;
use crate::models::{ModelChain, NoModel};

impl Turn<'_> {
    /// The model that the chat uses now; for a sub-agent, the model of the user's chat, or one of the tier that the call named.
    pub(super) async fn chain(&self) -> Result<ModelChain, End> {
        let tier = self.ancestry.delegation().and_then(Delegation::tier);
        let found = self.ports.models.chain(tier).await;
        found.map_err(|error| match error {
            NoModel::Port(error) => End::Port(error),
            NoModel::Unavailable(why) => End::Failed(Cause::ModelNotFound, why),
        })
    }

    /// Waits until the turn may begin, and shows this if it takes a while. `false` if the server stops; the turn then stays queued on
    /// record for the server's next run.
    pub(super) async fn is_admitted(&self, chain: &ModelChain) -> Result<bool, End> {
        if self.ancestry.has_place() {
            // A sub-agent's turn shares the place of its top turn, unless it works in the background.
            return Ok(true);
        }
        let place = self.ancestry.put_in(self.ports.models.place(chain.setup.kind));
        if place.try_take() {
            return Ok(true);
        }
        // Shown first: everything streamed from here on belongs to this answer.
        let waiting = ReplyState { waits: true, ..ReplyState::of(TurnStatus::Queued) };
        self.display().reply(self.message, "", waiting).await?;
        self.display()
            .notice("⏳ Other answers are under way; this one begins when one of them ends.")
            .await?;
        tokio::select! {
            () = place.take() => Ok(true),
            () = self.cancelled.cancelled() => Err(End::Cancelled),
            () = self.stop.cancelled() => Ok(false),
        }
    }

    /// Asks the model or, if it is unavailable, its next stand-in, which then answers for the rest of the turn.
    pub(super) async fn ask_any(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<Reply, End> {
        loop {
            let error = match self.ask(&chain.setup, conversation, progress).await {
                Err(End::NotAnswered(error)) => error,
                answered => return answered,
            };
            if !self.stand_in(&error, chain, conversation).await? {
                return Err(End::NotAnswered(error));
            }
            if let Some(message) = progress.void {
                self.display().reply(message, "", ReplyState::of(TurnStatus::Running)).await?;
            }
        }
    }

    /// Switches to the next stand-in for an unavailable model, for the rest of the turn, and shows a notice; `false` if
    /// there is none.
    pub(super) async fn stand_in(
        &self,
        error: &llm::Error,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
    ) -> Result<bool, End> {
        if chain.others.is_empty() {
            return Ok(false);
        }
        let next = chain.others.remove(0);
        let told = format!("⚠️ {}: {error}. {} answers instead.", chain.setup.origin(), next.origin());
        self.display().notice(&told).await?;
        conversation.turn_to(&next.origin(), next.window_tokens, |request| super::aim(request, &next));
        chain.setup = next;
        Ok(true)
    }
}
