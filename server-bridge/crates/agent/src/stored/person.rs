//! What the user lets the agent do, and the models that answer them.

use futures_util::future::BoxFuture;
use llm::retry::Patience;
use llm::slots::{Kind, Seat};
use store::MessageId;

use super::Stored;
use crate::approval::Mode;
use crate::engine::{Asked, ModelPool, Permissions};
use crate::models::{ModelChain, Place, Tier};
use crate::questions::{Asking, Wanted};
use crate::tools::COMMANDS;

impl Permissions for Stored {
    fn mode(&self) -> Asked<'_, Mode> {
        Box::pin(async {
            let word = self.service.store.approval(self.user.id, &self.root).await?;
            // A newer server's word: rather ask once too often.
            Ok(word.parse().unwrap_or(Mode::Ask))
        })
    }

    fn is_allowed<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, bool> {
        Box::pin(self.service.store.is_allowed(self.user.id, &self.root, tool, subject))
    }

    fn allow_for_good<'a>(&'a self, tool: &'a str, subject: &'a str) -> Asked<'a, ()> {
        Box::pin(self.service.store.allow_for_good(self.user.id, &self.root, tool, subject))
    }

    fn files_change(&self) -> Asked<'_, ()> {
        Box::pin(self.service.store.forget_allowed(self.user.id, &self.root, COMMANDS))
    }

    fn ask(&self, message: MessageId, wanted: Wanted) -> Asking {
        self.service.engine.questions.ask(self.user.id, message, wanted)
    }

    fn wants_room(&self) -> bool {
        self.service.engine.takes_compression(self.user.id, &self.chat)
    }
}

impl ModelPool for Stored {
    fn chain(&self, tier: Option<Tier>) -> BoxFuture<'_, crate::Result<ModelChain>> {
        Box::pin(self.service.engine.models.of_chat(&self.service, &self.user, &self.root, tier))
    }

    fn seat(&self, kind: Kind) -> Seat {
        self.service.engine.models.seat(self.user.id, kind)
    }

    fn patience(&self) -> Patience {
        self.service.engine.models.patience()
    }

    fn place(&self, kind: Kind) -> Place {
        self.service.engine.models.place(self.user.id, kind)
    }
}
