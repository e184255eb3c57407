//! Asking the model once, and showing its answer as it comes.

use std::pin::pin;

use llm::{Assistant, Delta, Draft, Message, Reply, Request};
use store::{MessageId, Spent};
use tokio::sync::mpsc;

use super::{End, Progress, Turn, document};
use crate::Part;
use crate::context::{Conversation, history};
use crate::engine::show::AgentDocument;
use crate::limits::REASONING_SHOWN_BYTES;
use crate::models::ModelSetup;
use crate::tool;

/// Something to show of an answer under way.
enum Piece {
    Text(String),
    Reasoning(String),
    /// What came so far is void; why.
    Again(String),
}

/// An answer under way, as it is shown.
#[derive(Default)]
struct Shown {
    message: Option<MessageId>,
    text: String,
    reasoning: String,
}

impl Turn<'_> {
    /// Asks until there is an answer, which is kept and shown.
    pub(super) async fn ask(
        &self,
        setup: &ModelSetup,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<Reply, End> {
        let is_first = !progress.has_first;
        let message = is_first.then_some(self.waiting.message).or(progress.void.take());
        let mut shown = Shown { message, ..Shown::default() };
        let Some(answered) = self.answered_aloud(setup, conversation.draft(), &mut shown).await? else {
            self.keep_half(shown, is_first, progress).await?;
            return Err(End::Cancelled);
        };
        match answered {
            Ok(mut reply) => {
                for thought in &mut reply.message.reasoning {
                    thought.origin = setup.origin();
                }
                progress.has_first = true;
                self.keep(setup, &reply, conversation, progress).await?;
                self.settle(reply.message.text.clone(), shown, is_first, progress).await?;
                Ok(reply)
            }
            Err(error @ llm::Error::InputTooLong(_)) => {
                progress.void = shown.message;
                Err(End::TooLong(error.to_string()))
            }
            Err(error) if error.is_anothers_turn() => {
                progress.void = shown.message;
                Err(End::NotAnswered(error))
            }
            Err(error) => Err(End::Failed(error.to_string())),
        }
    }

    /// Asks until there is an answer, showing it as it comes; `None` where its user stops it.
    async fn answered_aloud(
        &self,
        setup: &ModelSetup,
        (request, draft): (&Request, &mut Draft),
        shown: &mut Shown,
    ) -> Result<Option<Result<Reply, llm::Error>>, End> {
        let models = &self.service.engine.models;
        let seat = models.seat(self.user.id, self.lineage.slots(setup.kind));
        // Bounded by what an answer may be.
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
        let (part, text) = match piece {
            Piece::Again(why) => {
                (shown.text, shown.reasoning) = Default::default();
                if let Some(message) = shown.message {
                    self.screen()
                        .change(message, "", &AgentDocument::reply(store::TurnStatus::Running))
                        .await?;
                }
                return Ok(self.screen().notice(&format!("⚠️ {why}")).await?);
            }
            Piece::Text(text) => (Part::Text, text),
            Piece::Reasoning(text) => (Part::Reasoning, text),
        };
        let so_far = if part == Part::Text { &mut shown.text } else { &mut shown.reasoning };
        so_far.push_str(&text);
        let message = match shown.message {
            Some(message) => message,
            None => {
                let document = document(store::TurnStatus::Running, String::new(), None, None);
                let message = self.screen().add("", &document).await?.id;
                *shown.message.insert(message)
            }
        };
        self.screen().said(message, part, text);
        Ok(())
    }

    /// Keeps an answer, and what its request took.
    async fn keep(
        &self,
        setup: &ModelSetup,
        reply: &Reply,
        conversation: &mut Conversation,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let usage = progress.took(setup, reply.usage);
        let count = conversation.count_of(reply.usage.input_tokens);
        let (turn, message) = (self.waiting.turn, Message::Assistant(tool::kept(reply.message.clone())));
        let spent = Spent { subscription: &setup.subscription, model: &setup.name, usage };
        let item = self.service.store.append_answer(turn, &history::to_json(&message), spent, count).await?;
        conversation.counted(count);
        conversation.push(item, turn, message);
        Ok(())
    }

    /// Keeps what was said of an answer that its user stopped; calls that are not whole are not.
    async fn keep_half(&self, shown: Shown, is_first: bool, progress: &mut Progress) -> Result<(), End> {
        let text = shown.text.clone();
        if !text.is_empty() {
            let said = Assistant { text: text.clone(), ..Assistant::default() };
            let item = history::to_json(&Message::Assistant(said));
            self.service.store.append_turn_item(self.waiting.turn, &item).await?;
        }
        self.settle(text, shown, is_first, progress).await
    }

    async fn settle(
        &self,
        text: String,
        shown: Shown,
        is_first: bool,
        progress: &mut Progress,
    ) -> Result<(), End> {
        let Shown { message, mut reasoning, .. } = shown;
        reasoning.truncate(reasoning.floor_char_boundary(REASONING_SHOWN_BYTES));
        if is_first {
            // The turn goes on; its end rewrites the message.
            let document = document(store::TurnStatus::Running, reasoning.clone(), None, None);
            self.screen().change(self.waiting.message, &text, &document).await?;
            (progress.text, progress.reasoning) = (text, reasoning);
        } else if let Some(message) = message {
            self.screen().change(message, &text, &AgentDocument::later_reply(reasoning)).await?;
        }
        Ok(())
    }
}
