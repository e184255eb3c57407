//! What an earlier server did of a call that has no result.
//!
//! Of a call that had begun, nobody may know if it took effect. Where the mode has calls of its kind asked about, its user is asked if it is
//! made again, whatever else allows such calls. Elsewhere, and without a yes, the model is told and looks first.

use llm::ToolCall;

use super::{End, Turn};
use crate::approval::{Access, Verdict, verdict};
use crate::context::{Conversation, NO_RESULT};
use crate::engine::ports::{Called, CalledAgent};
use crate::tool::{Beside, CallKey, Outcome, Understood};

/// What its user is told who is asked about such a call.
const IN_DOUBT: &str = "the server was restarted during this call, and it is not known whether it took effect; allow it only if it may be done twice";

/// What an earlier server did of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// Nothing that could have had an effect.
    Nothing,
    /// Its tool knows: it finds what it began.
    Something,
    /// It called this sub-agent, which goes on.
    Called(Box<CalledAgent>),
    /// Nobody knows.
    Unknown,
}

/// Why its user is asked about such a call, with the reason that a hook has.
pub(super) fn in_doubt(asks: Option<String>) -> String {
    asks.map_or_else(|| IN_DOUBT.to_owned(), |why| format!("{IN_DOUBT}; {why}"))
}

/// The result of such a call that is not made again, from why it is not.
pub(super) fn not_again(denied: Outcome) -> Outcome {
    Outcome { text: format!("{NO_RESULT} It is not done again now: {}", denied.text), ..denied }
}

impl Turn<'_> {
    /// True if the user is asked about such a call.
    pub(super) async fn asks_in_doubt(&self, understood: &Result<Understood, String>) -> Result<bool, End> {
        let Ok(call) = understood else { return Ok(false) };
        let access = self.access(call).await;
        Ok(access != Access::Read && verdict(self.ports.permissions.mode().await?, access) == Verdict::Asks)
    }

    /// What an earlier server did of a call that has no result.
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
            // It is put on record before it is sent.
            Some(rules) if rules.takes_up && !self.ports.journal.has_command(key).await? => Before::Nothing,
            Some(rules) if rules.takes_up => Before::Something,
            Some(_) | None => Before::Unknown,
        })
    }
}
