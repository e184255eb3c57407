//! The turn's services for a running tool call.

use futures_util::future::BoxFuture;
use records::{ChatId, MessageId};
use sandbox::Sandbox;

use super::Turn;
use super::run_tools::Begun;
use crate::ask::{Ask, Kind};
use crate::engine::agents;
use crate::engine::ports::CallState;
use crate::limits::QUESTION_PATIENCE;
use crate::tool::{DelegationRequest, Failure, Host, Outcome, Question, SampleRequest, Sampled};

/// A call's connection to its turn.
pub(super) struct CallHost<'a> {
    pub(super) turn: &'a Turn<'a>,
    pub(super) begun: &'a Begun,
    /// The message that shows the call.
    pub(super) message: MessageId,
}

impl Host for CallHost<'_> {
    fn sandbox(&self) -> BoxFuture<'_, Result<Sandbox, Failure>> {
        self.turn.ports.workplace.sandbox()
    }

    fn ask<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, Result<Option<String>, Failure>> {
        Box::pin(async move {
            let Self { turn, begun, message } = *self;
            let (text, options) = question.said(&*turn.ports.say);
            // Registered before the question is shown, so that no answer comes too early.
            let ask = Ask { kind: Kind::Words, patience: QUESTION_PATIENCE };
            let mut asking = turn.ports.permissions.ask(message, ask).await?;
            let card = begun.card(CallState::Questions(&text, &options));
            turn.display().call(message, card).await?;
            let answered = asking.words().await;
            turn.display().call(message, begun.card(CallState::Runs)).await?;
            let answer = |words: String| {
                let chosen = options.iter().position(|option| *option == words);
                chosen.map_or(words, |at| question.options[at].words().to_owned())
            };
            Ok(answered.map(answer))
        })
    }

    fn hidden<'a>(&'a self, base: &'a str, paths: &'a [String]) -> BoxFuture<'a, Result<Vec<bool>, Failure>> {
        Box::pin(async move { Ok(self.turn.ports.permissions.hidden(self.begun.tool(), base, paths).await?) })
    }

    fn sample(&self, request: SampleRequest) -> BoxFuture<'_, Result<Sampled, Failure>> {
        Box::pin(self.turn.sample(request))
    }

    fn delegate<'a>(&'a self, request: DelegationRequest<'a>) -> BoxFuture<'a, Result<Outcome, Failure>> {
        Box::pin(agents::call(request, self.turn, (self.message, self.begun.called())))
    }

    fn is_at_work(&self, sub_agent: &ChatId) -> bool {
        self.turn.ports.sub_agents.is_at_work(sub_agent)
    }

    fn end_sub_agent<'a>(&'a self, sub_agent: &'a ChatId) -> BoxFuture<'a, Result<bool, Failure>> {
        Box::pin(async move { Ok(self.turn.ports.background.end(sub_agent).await?) })
    }
}
