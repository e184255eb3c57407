//! The house: the state that everything here works with, and what all of it does: keeping a message, and sending what changed.

use std::ops::Deref;
use std::sync::Arc;

use agent::approval::Mode;
use agent::ask::Waiters;
use agent::engine::{AtWork, PromptParts};
use agent::hooks::Hooks;
use agent::tool::Registry;
use api::document::ExecDocument;
use api::language::Language;
use store::{AuditEntry, ChatId, Message, MessageId, MessageRole, UserId};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tools::Services;

use crate::bus::Bus;
use crate::languages::Languages;
use crate::models::Models;
use crate::queue::Queue;
use crate::running::Running;
use crate::sending::Sending;
use crate::server_settings::LiveSettings;
use crate::{ChatEvent, Result, exec_document};

/// Answers what users write into chats. Cheap to clone; every clone is the same service.
#[derive(Clone)]
pub struct ChatService(pub(crate) Arc<House>);

/// The house: all that answers in chats have in common. Everything here stands on it, and it on none of them.
pub(crate) struct House {
    pub(crate) running: Running,
    pub(crate) sending: Sending,
    pub(crate) models: Models,
    /// Which chats have a turn under way, and what waits.
    pub(crate) queue: Queue,
    /// The questions that wait for their answers.
    pub(crate) asks: Waiters,
    /// The sub-agents under way.
    pub(crate) at_work: AtWork,
    /// What tools see of it, and everything else too: the store, the machines, the execs.
    pub(crate) services: Services,
    pub(crate) tools: Registry,
    /// What hangs at the places of turns.
    pub(crate) hooks: Hooks,
    /// What models are told before and beside a conversation.
    pub(crate) prompt: PromptParts,
    pub(crate) tasks: TaskTracker,
    pub(crate) stop: CancellationToken,
    pub(crate) bus: Bus,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) languages: Languages,
}

impl Deref for House {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl House {
    /// A text of the server itself as this user reads it.
    pub(crate) fn in_words_of(&self, user: UserId, text: &str) -> String {
        self.languages.of(user).translated(text).into_owned()
    }

    /// The language in which this user reads the server's texts.
    pub(crate) fn language(&self, user: UserId) -> Language {
        self.languages.of(user)
    }

    pub(crate) async fn set_approval(&self, user: &store::User, chat: &ChatId, mode: Mode) -> Result<()> {
        self.store.set_approval(user.id, chat, mode.as_str()).await?;
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: "approval.mode".to_owned(),
            location: None,
            target: chat.to_string(),
            outcome: mode.to_string(),
        };
        self.store.append_audit(&entry).await?;
        self.tell_chat(user.id, chat).await
    }

    /// Leaves a trace of what a user did. A failure is logged only: what was done is done.
    pub(crate) async fn note(
        &self,
        user: &store::User,
        action: &str,
        location: Option<&str>,
        target: &str,
        outcome: &str,
    ) {
        let entry = AuditEntry {
            user: Some(user.name.clone()),
            action: action.to_owned(),
            location: location.map(str::to_owned),
            target: target.to_owned(),
            outcome: outcome.to_owned(),
        };
        if let Err(error) = self.store.append_audit(&entry).await {
            tracing::error!(%error, action, "cannot write the audit trail");
        }
    }

    /// Tells the user's clients that something of a chat, beside its messages, has changed.
    pub(crate) async fn tell_chat(&self, user: UserId, chat: &ChatId) -> Result<()> {
        let chat = self.store.chat(user, chat).await?;
        self.tell(user, ChatEvent::Chat(chat));
        Ok(())
    }

    /// Stops what is under way in a chat; what waits in it goes on.
    pub(crate) fn stop(&self, user: UserId, chat: &ChatId) -> usize {
        self.running.cancel(user, chat) + self.stop_answer(user, chat)
    }

    /// Stops what is under way in a chat and what waits in it.
    pub(crate) fn stop_all(&self, user: UserId, chat: &ChatId) -> usize {
        self.running.cancel(user, chat) + self.stop_answers(user, chat)
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    pub(crate) fn tell(&self, user: UserId, event: ChatEvent) {
        self.bus.send(user, event);
    }

    /// Stores a message without a command and tells it. A notice is stored as its user reads it.
    pub(crate) async fn say(
        &self,
        user: UserId,
        chat: &ChatId,
        role: MessageRole,
        text: &str,
    ) -> store::Result<Message> {
        let notice = (role == MessageRole::Notice).then(|| self.in_words_of(user, text));
        let text = notice.as_deref().unwrap_or(text);
        let message = self.store.append_message(user, chat, role, text, None).await?;
        self.tell(user, ChatEvent::Message(message.clone()));
        Ok(message)
    }

    /// Gives the message of a command a new text and document, and tells it.
    pub(crate) async fn show(
        &self,
        user: UserId,
        message: MessageId,
        text: &str,
        document: &ExecDocument,
    ) -> store::Result<Message> {
        let message =
            self.store.update_message(user, message, text, Some(&exec_document::to_json(document))).await?;
        self.tell(user, ChatEvent::Message(message.clone()));
        Ok(message)
    }

    /// Whether an answer is under way in a chat, or waits to be.
    pub(crate) fn is_answering(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_working(user, chat)
    }

    /// Whether a chat is to be compressed; it is not any more then.
    pub(crate) fn takes_compression(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.take_compression(user, chat)
    }

    /// Stops the answer under way in a chat, and no message that waits after it; how many answers that was.
    fn stop_answer(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Stops the answer under way in a chat and all messages that wait; how many that was.
    fn stop_answers(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop_all(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Whether no more messages may wait in a chat.
    pub(crate) fn is_queue_full(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_full(user, chat)
    }

    /// How many messages of a chat wait for their answer.
    pub(crate) fn waiting_messages(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.waiting(user, chat)
    }
}
