//! What a request may use, held by hooks until its use is on record.

use super::{End, Turn};
use crate::Cause;
use crate::context::Conversation;
use crate::hooks::{Estimate, Hold};
use crate::models::ModelSetup;

impl Turn<'_> {
    /// Has the hooks hold what a request to a model may use: about `input_tokens`, and an answer of at most `reply_tokens`. `answers` is the number
    /// of answers that the turn has had, or `None` for a request beside its conversation.
    pub(super) async fn hold(
        &self,
        setup: &ModelSetup,
        input_tokens: usize,
        reply_tokens: u32,
        answers: Option<usize>,
    ) -> Result<Hold, End> {
        let estimate = Estimate::of(setup, input_tokens, reply_tokens, answers);
        tokio::select! {
            biased;
            held = self.hooks.hold(self.hooked(), estimate) => held.map_err(|why| End::Failed(Cause::Denied, why)),
            () = self.cancelled.cancelled() => Err(End::Cancelled),
        }
    }
}

/// Adds notes to the reminder of the next request, each once.
pub(super) fn remind(conversation: &mut Conversation, notes: &[String]) {
    for note in notes {
        let mut reminder = conversation.request().reminder.clone().unwrap_or_default();
        if reminder.contains(note.as_str()) {
            continue;
        }
        if !reminder.is_empty() {
            reminder.push('\n');
        }
        reminder.push_str(note);
        conversation.remind(Some(reminder));
    }
}
