//! Determines how far an earlier run of the server got with a call that has no result.
//!
//! If the call had begun, it may be unknown whether it took effect. If the mode requires a question for calls of its kind, the user is
//! asked whether to make the call again, even if such calls are otherwise allowed. In other modes, and if the user does not agree, the
//! model is informed and checks first.

use llm::ToolCall;

use super::{End, Turn};
use crate::approval::{Access, Verdict, verdict};
use crate::context::{Conversation, NO_RESULT};
use crate::engine::ports::{Called, CalledAgent};
use crate::tool::{Beside, CallKey, Outcome, Understood};

/// The reason that the user reads in the question about a call that may already have taken effect.
const IN_DOUBT: &str = "the server was restarted during this call, and it is not known whether it took effect; allow it only if it can safely be done twice";

/// How far an earlier run of the server got with a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// The earlier run did nothing that could have had an effect.
    Nothing,
    /// The earlier run began something that the call's tool can find again.
    Something,
    /// The earlier run called this sub-agent, whose work continues.
    Called(Box<CalledAgent>),
    /// It is unknown whether the call took effect.
    Unknown,
}

/// The reason why the user is asked about a call that may already have taken effect, followed by the reason that a hook gives.
pub(super) fn in_doubt(asks: Option<String>) -> String {
    asks.map_or_else(|| IN_DOUBT.to_owned(), |why| format!("{IN_DOUBT}; {why}"))
}

/// The result of a call that may already have taken effect and is not made again; `denied` has the reason.
pub(super) fn not_again(denied: Outcome) -> Outcome {
    Outcome { text: format!("{NO_RESULT} It is not done again now: {}", denied.text), ..denied }
}

impl Turn<'_> {
    /// True if the user is asked about a call that may already have taken effect.
    pub(super) async fn asks_in_doubt(&self, understood: &Result<Understood, String>) -> Result<bool, End> {
        let Ok(call) = understood else { return Ok(false) };
        let access = self.access(call).await;
        Ok(access != Access::Read && verdict(self.ports.permissions.mode().await?, access) == Verdict::Asks)
    }

    /// Determines how far an earlier run of the server got with a call that has no result.
    pub(super) async fn before(
        &self,
        call: &ToolCall,
        key: CallKey,
        conversation: &Conversation,
    ) -> Result<Before, End> {
        let rules =
            self.ancestry.tools().iter().find(|tool| tool.name() == call.name).map(|tool| tool.rules());
        if rules.is_some_and(|rules| rules.beside == Beside::SubAgents) {
            return Ok(match self.ports.sub_agents.called().await? {
                Called::Nobody => Before::Nothing,
                Called::Agent(called) => Before::Called(called),
                Called::Unknown => Before::Unknown,
            });
        }
        Ok(match rules {
            _ if !conversation.has_begun(self.turn, &call.id) => Before::Nothing,
            // The tool puts its command on record before it is sent, so without a record nothing was sent.
            Some(rules) if rules.takes_up && !self.ports.journal.has_command(key).await? => Before::Nothing,
            Some(rules) if rules.takes_up => Before::Something,
            Some(_) | None => Before::Unknown,
        })
    }
}
