//! The rulings of hooks and rules on a call that is about to begin, and the verdict that follows from them.

use llm::ToolCall;
use serde_json::Value;

use super::{End, Turn};
use crate::approval::{Access, Ruling, Verdict};
use crate::hooks::{Place, Words};
use crate::tool::Understood;

impl Turn<'_> {
    /// Asks the hooks about a call that begins: they may deny it, or replace its arguments, which are then parsed again.
    pub(super) async fn hooked_call(
        &self,
        call: &mut ToolCall,
        understood: &mut Result<Understood, String>,
        away: Option<&str>,
    ) -> Words {
        let Ok(known) = understood else { return Words::default() };
        let access = self.access(known).await;
        let mut words = self.words(Place::CallBegins { call, access }).await;
        if let (None, Some(arguments)) = (&words.denied, words.arguments.take()) {
            call.arguments = Value::Object(arguments).to_string();
            words.notes.push(format!("A hook changed the arguments of this call to {}", call.arguments));
            *understood = self.understand(call, false, away);
        }
        words
    }

    /// The verdict on a call, from the rulings of hooks and rules: a denial takes precedence over everything else, then a request to ask.
    /// An allowance skips the mode's question, but no question that is asked each time.
    pub(super) async fn judged(
        &self,
        call: &ToolCall,
        understood: &Understood,
        access: Access,
        by_mode: Verdict,
        words: &mut Words,
    ) -> Result<Verdict, End> {
        if words.denied.is_none() {
            match self.ports.permissions.ruling(&call.name, understood.subject(), true).await? {
                Ruling::Silent => {}
                Ruling::Allow => words.allows = true,
                Ruling::Ask(why) => drop(words.asks.get_or_insert(why)),
                Ruling::Deny(why) => words.denied = Some(why),
            }
        }
        Ok(match by_mode {
            _ if words.denied.is_some() => Verdict::Denied,
            Verdict::Denied => Verdict::Denied,
            _ if words.asks.is_some() => Verdict::Asks,
            Verdict::Asks if words.allows && access.may_be_remembered() => Verdict::Allowed,
            by_mode => by_mode,
        })
    }
}
