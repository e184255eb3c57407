//! Resuming a turn that was cut off when an earlier run of the server ended.
//!
//! | the last thing on record | what happens |
//! |---|---|
//! | the message that the turn answers | the turn begins, and asks its hooks once more |
//! | a result, or a hook's request to continue | the model is asked |
//! | an answer without calls | the turn has ended, unless a message waits for the sub-agent or a hook wants the turn to continue |
//! | an answer with a call that has no result | see below |
//!
//! | such a call | what happens |
//! |---|---|
//! | only reads, or had not begun | it is judged and run like any other |
//! | had begun, and its tool `takes_up` | the tool waits for the end of the command that has the call's key; if there is none, the call is run like any other |
//! | calls a sub-agent, and one was called | the sub-agent's turn is resumed in the same way, and its end is the result |
//! | had begun otherwise | if the mode asks about such calls, the user is asked whether to make it again; otherwise, and if the user does not agree, its result says that it is unknown whether it took effect, so that the model checks before it repeats the call |
//!
//! Text that was streamed and not recorded is dropped: the model is asked again, and answers in the same message.

use std::time::Duration;

use llm::Message;
use tokio::time::{Instant, sleep};

use super::run_tools::Calls;
use super::{End, Progress, Turn};
use crate::context::Conversation;
use crate::engine::ports::{Entry, Left};
use crate::limits::{MACHINE_LOOK_MS, MACHINE_NOTE_MS, MACHINE_PATIENCE_MS};
use crate::tool::Failure;

/// The notice that an answer waits for its machine.
const WAITS: &str =
    "The server was restarted during this answer; it continues as soon as its machine is connected again.";

/// The error kind of a machine that may come back by itself.
const OFFLINE: &str = "offline";

impl Progress {
    /// Continues from the progress that is on record.
    pub(super) fn take_up(&mut self, left: Option<&Left>) {
        let Some(Left { answers, first, words, void, cost, .. }) = left else { return };
        (self.text, self.reasoning) = first.clone();
        self.answers = *answers;
        self.has_first = *answers > 0;
        self.void = *void;
        self.words.clone_from(words);
        (self.usage, self.cost_micros) = (cost.usage, cost.cost_micros);
    }
}

impl Turn<'_> {
    /// Waits for the turn's machine if the turn worked on one: a runner needs a moment to find the server again.
    pub(super) async fn wait_for_machine(&self, left: &Left) -> Result<(), End> {
        let mut tools = self.ancestry.tools().iter();
        let worked_on_one = left.needs_machine
            || tools
                .any(|tool| tool.rules().needs_machine && left.called.iter().any(|name| name == tool.name()));
        if !worked_on_one {
            return Ok(());
        }
        let deadline = Instant::now() + Duration::from_millis(MACHINE_PATIENCE_MS);
        let away = self.ancestry.place().leave();
        let found = async {
            let note_at = Instant::now() + Duration::from_millis(MACHINE_NOTE_MS);
            let mut is_noted = false;
            loop {
                match self.ports.workplace.sandbox().await {
                    Err(Failure::Away { kind: OFFLINE, .. }) if Instant::now() < deadline => {}
                    Err(Failure::Port(error)) => return Err(error),
                    // A turn may end without a machine; its calls report why there is none.
                    Ok(_) | Err(_) => return Ok(()),
                }
                if !is_noted && Instant::now() >= note_at {
                    is_noted = true;
                    self.display().notice(WAITS).await?;
                }
                sleep(Duration::from_millis(MACHINE_LOOK_MS)).await;
            }
        };
        let found = tokio::select! {
            found = found => found,
            () = self.cancelled.cancelled() => return Err(End::Cancelled),
        };
        away.end().await;
        Ok(found?)
    }

    /// Completes what an earlier run of the server left undone of the last answer; true if nothing is left to do after it.
    pub(super) async fn go_on(
        &self,
        away: Option<&str>,
        conversation: &mut Conversation,
    ) -> Result<bool, End> {
        let Some(last) = conversation.last_answer(self.turn) else { return Ok(false) };
        if last.answer.tool_calls.is_empty() {
            let text = last.answer.text.clone();
            if self.hears_more(conversation).await? {
                return Ok(false);
            }
            let Some(why) = self.stops(&text, 0).await? else { return Ok(true) };
            self.append(conversation, Entry::Said(Message::user(why))).await?;
            return Ok(false);
        }
        let (answer, calls) = (last.item, last.answer.tool_calls.clone());
        let open: Vec<usize> = (0..calls.len()).filter(|at| last.open[*at]).collect();
        if !open.is_empty() {
            let calls = Calls { answer, calls: &calls, is_cut: false, open: Some(open) };
            self.run_tools(calls, away, conversation).await?;
            // In the loaded request, each open call had a result that said it was interrupted; now the results are on record.
            conversation.load(self.ports.journal.load().await?);
        }
        self.look_around(&calls, conversation).await?;
        Ok(false)
    }
}
