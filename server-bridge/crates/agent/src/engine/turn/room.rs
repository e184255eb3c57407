//! Makes room for the next answer: carries out what `context` decides, with the store, the model and the machine.

use llm::{Draft, Message, Reply, Request, Stop, ToolCall};

use super::{End, Progress, Turn};
use crate::Cause;
use crate::context::{Conversation, compress, mask};
use crate::engine::ports::{Change, Entry};
use crate::grouped::grouped;
use crate::hooks::Place;
use crate::limits::{COMPRESS_COOL_DOWN_ROUNDS, COMPRESS_FORCED_TIMES, COMPRESS_SAVES_PERCENT};
use crate::models::{ModelChain, ModelSetup};
use crate::tool::Beside;

/// The message to a model whose answer was cut off because the window was full.
const GO_ON: &str = "(Your answer was cut off because your window was full. What was said before is now a summary. Go on where \
    you stopped.)";

impl Turn<'_> {
    /// Compresses a chat in which nothing is in progress, so there is no answer of the turn to show. Returns the text for the user,
    /// unless it was already shown.
    pub async fn compress_alone(self) -> Option<String> {
        let work = async {
            let chain = &mut self.chain().await?;
            let mut conversation = self.conversation(&chain.setup).await?.conversation;
            self.compress(chain, &mut conversation, &mut Progress::default(), true).await.map(drop)
        };
        let done = tokio::select! {
            done = work => done,
            () = self.stop.cancelled() => return None,
        };
        let why = match done {
            Ok(()) => return None,
            Err(End::Cancelled) => "it was cancelled".to_owned(),
            Err(End::Failed(_, why) | End::TooLong(why)) => why,
            Err(End::NotAnswered(error)) => error.to_string(),
            Err(End::Port(error)) => {
                tracing::error!(%error, "a conversation was not compressed because the store failed or the chat was deleted");
                return None;
            }
        };
        Some(format!("The conversation was not compressed: {why}."))
    }

    /// Masks or compresses what is due before the model is asked.
    pub(super) async fn make_room(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        if self.ports.permissions.wants_room() {
            self.compress_or_leave(chain, conversation, progress, true).await?;
        }
        let masks = if self.context.masks() { mask::due(conversation) } else { Vec::new() };
        if !masks.is_empty() {
            self.ports.journal.change(Change::Masked(&masks)).await?;
            conversation.mask(masks);
        }
        if self.context.compresses() && compress::is_due(conversation) {
            self.compress_or_leave(chain, conversation, progress, false).await?;
        }
        Ok(())
    }

    /// Compresses while there is room left, so that the turn continues without a summary if the request for one is refused.
    async fn compress_or_leave(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
        is_asked: bool,
    ) -> Result<bool, End> {
        match self.compress(chain, conversation, progress, is_asked).await {
            Err(End::Failed(_, why)) => self.leave_as_it_is(conversation, &why).await,
            compressed => compressed,
        }
    }

    /// Asks the model; if the provider reports that the request is too long, makes room and asks again.
    pub(super) async fn ask_within(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<Reply, End> {
        loop {
            match self.ask_any(chain, conversation, progress).await {
                Err(End::TooLong(why)) => {
                    self.force_room(&why, chain, conversation, progress).await?;
                }
                answered => return answered,
            }
        }
    }

    /// Lets the model continue after the window filled up during an answer.
    pub(super) async fn go_on_with_less(
        &self,
        reply: &Reply,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        if reply.message.tool_calls.is_empty() {
            self.append(conversation, Entry::Said(Message::user(GO_ON))).await?;
        }
        self.force_room("the conversation fills the model's window", chain, conversation, progress).await
    }

    async fn force_room(
        &self,
        why: &str,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        if !self.context.compresses() {
            let mode = self.context;
            let what = format!(
                "this server's context mode is {mode}, so the conversation is not compressed automatically"
            );
            let why = format!("{why}, and {what}; send /compress, or begin a new chat with /new");
            return Err(End::Failed(Cause::ContextTooLong, why));
        }
        progress.forced += 1;
        let has_tries = progress.forced <= COMPRESS_FORCED_TIMES;
        if has_tries && self.compress(chain, conversation, progress, false).await? {
            return Ok(());
        }
        let why = format!("{why}, and it cannot be compressed any further; begin a new chat with /new");
        Err(End::Failed(Cause::ContextTooLong, why))
    }

    /// Replaces all but the end with a summary and shows a notice; returns true if it did. Otherwise, the conversation stays as it
    /// was, and the notice contains the reason.
    async fn compress(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        progress: &mut Progress,
        is_asked: bool,
    ) -> Result<bool, End> {
        let Some(cut) = compress::cut(conversation) else {
            return self.leave_as_it_is(conversation, "there is nothing in it to leave out").await;
        };
        if let Some(why) = self.words(Place::Compresses { is_asked }).await.denied {
            if self.cancelled.is_cancelled() {
                return Err(End::Cancelled);
            }
            return self.leave_as_it_is(conversation, &why).await;
        }
        let said = match self.summary(chain, conversation, cut, progress).await? {
            Ok(said) => said,
            Err(why) => return self.leave_as_it_is(conversation, &why).await,
        };
        let new = compress::compaction(conversation, cut, &said);
        if !compress::saves_enough(&new) {
            let why = format!("that would save less than {COMPRESS_SAVES_PERCENT} %");
            return self.leave_as_it_is(conversation, &why).await;
        }
        self.ports.journal.change(Change::Compacted(&new)).await?;
        let shown = |tokens: i64| grouped(u64::try_from(tokens).unwrap_or(0));
        let (before, after) = (shown(new.tokens_before), shown(new.tokens_after));
        conversation.compact(new.compaction);
        let window = grouped(conversation.window_tokens() as u64);
        let text = format!(
            "🗜️ The conversation was compressed: about {before} → {after} of {window} tokens. You still see all of it; the model \
             goes on from a summary."
        );
        self.display().notice(&text).await?;
        let notes = self.words(Place::Compressed { is_asked, summary: &said }).await.notes;
        self.note(notes, conversation).await?;
        Ok(true)
    }

    async fn leave_as_it_is(&self, conversation: &mut Conversation, why: &str) -> Result<bool, End> {
        self.ports.journal.change(Change::NotCompacted(conversation.last_item())).await?;
        conversation.compaction_failed();
        let rounds = COMPRESS_COOL_DOWN_ROUNDS;
        let text = format!(
            "⚠️ The conversation was not compressed: {why}. Nothing was changed; it is not retried automatically for {rounds} \
             answers."
        );
        self.display().notice(&text).await?;
        Ok(false)
    }

    /// A summary of everything before `cut`, or the reason why there is none. If the model is unavailable, its next stand-in writes the summary.
    /// Fails with [`End::Failed`] if a hook refuses the request.
    async fn summary(
        &self,
        chain: &mut ModelChain,
        conversation: &mut Conversation,
        cut: usize,
        progress: &mut Progress,
    ) -> Result<Result<String, String>, End> {
        let mut why = String::new();
        let mut extents = compress::extents(conversation, cut).iter();
        let mut extent = extents.next();
        while let Some(wanted) = extent {
            let request = compress::request(conversation, cut, *wanted);
            // Dropped when the cost of the request is on record.
            let _hold = self.hold(&chain.setup, conversation.tokens(), request.max_tokens, None).await?;
            let reply = match self.ask_silently(&chain.setup, &request).await? {
                Ok(reply) => reply,
                Err(error) => {
                    if error.is_anothers_turn() && self.stand_in(&error, chain, conversation).await? {
                        continue;
                    }
                    why = error.to_string();
                    match error {
                        llm::Error::InputTooLong(_) => extent = extents.next(),
                        _ => break,
                    }
                    continue;
                }
            };
            self.ports.journal.spend(progress.took(&chain.setup, reply.usage)).await?;
            return Ok(match reply.message.text.trim() {
                _ if reply.stop == Stop::Refused => Err("the model refused".to_owned()),
                "" => Err("the model wrote no summary".to_owned()),
                said => Ok(said.to_owned()),
            });
        }
        Ok(Err(why))
    }

    /// Asks for an answer that is not shown to the user.
    async fn ask_silently(
        &self,
        setup: &ModelSetup,
        request: &Request,
    ) -> Result<Result<Reply, llm::Error>, End> {
        let models = &self.ports.models;
        let seat = models.seat(self.ancestry.slots(setup.kind));
        let draft = &mut Draft::default();
        tokio::select! {
            answered = llm::call(&setup.model, request, draft, models.patience(), &seat, |_| {}) => Ok(answered),
            () = self.cancelled.cancelled() => Err(End::Cancelled),
        }
    }

    /// Reloads what an answer's calls may have changed in places other than the conversation's end.
    pub(super) async fn look_around(
        &self,
        calls: &[ToolCall],
        conversation: &mut Conversation,
    ) -> Result<(), End> {
        let tools = self.ancestry.tools();
        let of =
            |call: &ToolCall| tools.iter().find(|tool| tool.name() == call.name).map(|tool| tool.rules());
        if calls.iter().filter_map(of).any(|rules| rules.edits_conversation) {
            conversation.load(self.ports.journal.load().await?);
        }
        let only_reads = |call: &ToolCall| of(call).is_some_and(|rules| rules.beside == Beside::Readers);
        if calls.iter().all(only_reads) && conversation.request().reminder.is_none() {
            return Ok(());
        }
        self.look_for_news(conversation).await
    }

    /// Sets the reminder for the model that lists the files that changed since it saw them.
    pub(super) async fn look_for_news(&self, conversation: &mut Conversation) -> Result<(), End> {
        conversation.remind(self.ports.workplace.news().await?);
        Ok(())
    }
}
