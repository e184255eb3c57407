//! Asking the model once, and showing its answer as it arrives.

use std::pin::pin;

use llm::{Assistant, Delta, Draft, Message, Reply, Request};
use records::{MessageId, TurnStatus};
use tokio::sync::mpsc;

use super::{End, Progress, Turn, hold};
use crate::Cause;
use crate::context::Conversation;
use crate::engine::ports::{Entry, ReplyState, Stream};
use crate::limits::REASONING_SHOWN_BYTES;
use crate::models::ModelSetup;
use crate::tool;

/// A piece of an answer in progress to show.
enum Piece {
    Text(String),
    Reasoning(String),
    /// The answer so far is void, for this reason.
    Again(String),
}

/// An answer in progress, in the form that is shown.
#[derive(Default)]
pub(super) struct Shown {
    message: Option<MessageId>,
    text: String,
    reasoning: String,
}

impl Turn<'_> {
    /// Asks the model until there is an answer, which is stored and shown.
    pub(super) async fn ask(
        &self,
        setup: &ModelSetup,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<Reply, End> {
        let reply_tokens = conversation.request().max_tokens;
        // Dropped at the end, when what the request used is on record.
        let hold = self.hold(setup, conversation.tokens(), reply_tokens, Some(progress.answers)).await?;
        hold::remind(conversation, &hold.notes);
        let is_first = !progress.has_first;
        let message = is_first.then_some(self.message).or(progress.void.take());
        let shown = progress.shown.insert(Shown { message, ..Shown::default() });
        let answered = self.answered_aloud(setup, conversation.draft(), shown).await?;
        let Some(answered) = answered else {
            self.keep_half(progress).await?;
            return Err(End::Cancelled);
        };
        match answered {
            Ok(mut reply) => {
                for thought in &mut reply.message.reasoning {
                    thought.origin = setup.origin();
                }
                // The shown text is released only once it is stored: if the server ends in between, it is stored then.
                self.keep(setup, &reply, conversation, progress).await?;
                let shown = progress.shown.take().unwrap_or_default();
                self.settle(shown, reply.message.text.clone(), progress).await?;
                Ok(reply)
            }
            Err(error) => {
                let message = progress.shown.take().and_then(|shown| shown.message);
                Err(match error {
                    llm::Error::InputTooLong(_) => {
                        progress.void = message;
                        End::TooLong(error.to_string())
                    }
                    error if error.is_anothers_turn() => {
                        progress.void = message;
                        End::NotAnswered(error)
                    }
                    error => End::Failed(Cause::from(&error), error.to_string()),
                })
            }
        }
    }

    /// Asks until there is an answer, streaming it as it arrives; `None` if the user stops the turn.
    async fn answered_aloud(
        &self,
        setup: &ModelSetup,
        (request, draft): (&Request, &mut Draft),
        shown: &mut Shown,
    ) -> Result<Option<Result<Reply, llm::Error>>, End> {
        let models = &self.ports.models;
        let seat = models.seat(self.ancestry.slots(setup.kind));
        // The maximum size of an answer bounds this channel.
        let (sender, mut pieces) = mpsc::unbounded_channel();
        let mut asking = pin!(llm::call(&setup.model, request, draft, models.patience(), &seat, |news| {
            let piece = match news {
                llm::Progress::Delta(Delta::Text(text)) => Piece::Text(text.clone()),
                llm::Progress::Delta(Delta::Reasoning(text)) => Piece::Reasoning(text.clone()),
                llm::Progress::Delta(_) => return,
                llm::Progress::Retrying { .. } => Piece::Again(news.to_string()),
            };
            // The receiver lives as long as this call.
            let _ = sender.send(piece);
        }));
        let answered = loop {
            tokio::select! {
                biased;
                Some(piece) = pieces.recv() => self.show(piece, shown).await?,
                answered = &mut asking => break answered,
                () = self.cancelled.cancelled() => return Ok(None),
            }
        };
        while let Ok(piece) = pieces.try_recv() {
            self.show(piece, shown).await?;
        }
        Ok(Some(answered))
    }

    async fn show(&self, piece: Piece, shown: &mut Shown) -> Result<(), End> {
        let (stream, text) = match piece {
            Piece::Again(why) => {
                (shown.text, shown.reasoning) = Default::default();
                if let Some(message) = shown.message {
                    self.display().reply(message, "", ReplyState::of(TurnStatus::Running)).await?;
                }
                return Ok(self.display().notice(&format!("⚠️ {why}")).await?);
            }
            Piece::Text(text) => (Stream::Text, text),
            Piece::Reasoning(text) => (Stream::Reasoning, text),
        };
        let so_far = if stream == Stream::Text { &mut shown.text } else { &mut shown.reasoning };
        so_far.push_str(&text);
        let message = match shown.message {
            Some(message) => message,
            None => *shown.message.insert(self.display().add_reply().await?),
        };
        self.display().stream(message, stream, text);
        Ok(())
    }

    /// Stores an answer and the cost of its request.
    async fn keep(
        &self,
        setup: &ModelSetup,
        reply: &Reply,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let spent = progress.took(setup, reply.usage);
        let count = conversation.count_of(reply.usage.input_tokens);
        let message = Message::Assistant(tool::kept(reply.message.clone()));
        let (item, message) = self.ports.journal.append(Entry::Answer(message, spent, count.clone())).await?;
        progress.answers += 1;
        conversation.counted(count);
        conversation.push(item, self.turn, message);
        Ok(())
    }

    /// Stores the text so far of an answer that the user stopped; incomplete calls are dropped.
    async fn keep_half(&self, progress: &mut Progress) -> crate::PortResult<()> {
        let Some(shown) = progress.shown.take() else { return Ok(()) };
        let text = shown.text.clone();
        if !text.is_empty() {
            let said = Assistant { text: text.clone(), ..Assistant::default() };
            self.ports.journal.append(Entry::Said(Message::Assistant(said))).await?;
        }
        self.settle(shown, text, progress).await
    }

    /// Shows an answer as it was stored.
    async fn settle(&self, shown: Shown, text: String, progress: &mut Progress) -> crate::PortResult<()> {
        let Shown { message, mut reasoning, .. } = shown;
        reasoning.truncate(reasoning.floor_char_boundary(REASONING_SHOWN_BYTES));
        progress.said(&text);
        if !std::mem::replace(&mut progress.has_first, true) {
            // The turn continues; its end rewrites the message.
            let state = ReplyState { reasoning: &reasoning, ..ReplyState::of(TurnStatus::Running) };
            // The text is stored before it is shown, so that the end of the turn shows the same text, whenever that happens.
            (progress.text, progress.reasoning) = (text.clone(), reasoning.clone());
            self.display().reply(self.message, &text, state).await?;
        } else if let Some(message) = message {
            let state = ReplyState { reasoning: &reasoning, ..ReplyState::of(TurnStatus::Done) };
            self.display().reply(message, &text, state).await?;
        }
        Ok(())
    }
}
