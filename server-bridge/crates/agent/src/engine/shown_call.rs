//! The card of a call while its tool runs: to ask its user something with.

use store::MessageId;

use super::show::{AgentDocument, Screen, ToolData};
use crate::questions::{Asking, Wanted};

/// A call's card.
pub(crate) struct ShownCall<'a> {
    pub(super) screen: Screen<'a>,
    pub(super) message: MessageId,
    /// What it says while the tool runs.
    pub(super) running: AgentDocument,
}

impl ShownCall<'_> {
    /// Shows a question, with answers to choose from or none.
    ///
    /// Fails with the store's errors.
    pub(crate) async fn ask(&self, question: &str, options: &[String]) -> store::Result<Asking> {
        let Screen { service, user, .. } = self.screen;
        // Before anybody is told, so that no answer comes too soon.
        let asking = service.engine.questions.ask(user.id, self.message, Wanted::Words);
        let data = ToolData::Question { options: options.to_vec() };
        let document = self.running.clone().asking(question.to_owned(), data);
        self.screen.change(self.message, "", &document).await?;
        Ok(asking)
    }

    /// Shows that the tool goes on.
    ///
    /// Fails with the store's errors.
    pub(crate) async fn goes_on(&self) -> store::Result<()> {
        self.screen.change(self.message, "", &self.running).await
    }
}
