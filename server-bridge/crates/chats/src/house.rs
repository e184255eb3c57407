//! The house: the shared state of this crate, and its common operations: storing a message, and sending changes.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use agent::approval::Mode;
use agent::ask::Waiters;
use agent::commands::CommandSources;
use agent::engine::{AtWork, PromptParts};
use agent::hooks::Hooks;
use agent::tool::Registry;
use agent::trust::Trusts;
use api::document::ExecDocument;
use api::language::Language;
use execs::Stops;
use store::{AuditEntry, ChatId, Message, MessageId, MessageRole, UserId};
use tokio_util::task::TaskTracker;
use tools::Services;

use crate::bus::Bus;
use crate::languages::Languages;
use crate::models::Models;
use crate::queue::Queue;
use crate::rule_book::RuleBook;
use crate::running::Running;
use crate::sending::Sending;
use crate::server_settings::LiveSettings;
use crate::{ChatEvent, Result, exec_document};

/// Answers what users write into chats. Cheap to clone; every clone is the same service.
#[derive(Clone)]
pub struct ChatService(pub(crate) Arc<House>);

/// The house: the shared state for answers in chats. Everything here builds on it; it builds on nothing here.
pub(crate) struct House {
    pub(crate) running: Running,
    pub(crate) sending: Sending,
    pub(crate) models: Models,
    /// The turns in progress and queued in each chat.
    pub(crate) queue: Queue,
    /// The questions that wait for answers.
    pub(crate) asks: Waiters,
    /// The running sub-agents.
    pub(crate) at_work: AtWork,
    /// The services that tools get, used everywhere else too: the store, the machines, the execs.
    pub(crate) services: Services,
    pub(crate) tools: Registry,
    /// The slash commands of extensions.
    pub(crate) commands: CommandSources,
    /// The hooks at the points of turns.
    pub(crate) hooks: Hooks,
    /// The prompt before and beside a conversation.
    pub(crate) prompt: PromptParts,
    pub(crate) tasks: TaskTracker,
    pub(crate) stops: Stops,
    pub(crate) bus: Bus,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) languages: Arc<Languages>,
    pub(crate) rules: RuleBook,
    /// The approvals of what workspaces define; none before extensions are there.
    pub(crate) trusts: OnceLock<Arc<dyn Trusts>>,
    /// Begins the turn in the background of the sub-agent with this chat, unless somebody works on it: soon, beside the caller.
    pub(crate) begin_background: fn(&Arc<House>, &store::User, &ChatId),
}

impl Deref for House {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl House {
    /// A text of the server in this user's language.
    pub(crate) fn in_words_of(&self, user: UserId, text: &str) -> String {
        self.languages.of(user).translated(text).into_owned()
    }

    /// The user's language for the server's texts.
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

    /// Adds an audit entry for a user's action. A failure is only logged: the action is done.
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

    /// Sends an event to the user's clients that a chat, but not its messages, has changed.
    pub(crate) async fn tell_chat(&self, user: UserId, chat: &ChatId) -> Result<()> {
        let chat = self.store.chat(user, chat).await?;
        self.tell(user, ChatEvent::Chat(chat));
        Ok(())
    }

    /// Stops what is in progress in a chat, with its sub-agents in the background, also on record: the server's next run does not go on
    /// with it. Queued work goes on.
    pub(crate) async fn stop(&self, user: UserId, chat: &ChatId) -> usize {
        self.stop_one(user, chat).await + self.stop_background(user, chat).await
    }

    /// The same without the sub-agents in the background.
    pub(crate) async fn stop_one(&self, user: UserId, chat: &ChatId) -> usize {
        let stopped = self.running.cancel(user, chat) + self.stop_answer(user, chat);
        if let Err(error) = self.store.cancel_turn(user, chat).await {
            tracing::error!(%error, %chat, "the stop of an answer could not be recorded; the answer goes on if the server ends now");
        }
        // A sub-agent that goes on after a restart may have looked at its record just before.
        stopped + self.at_work.cancel(user, chat)
    }

    /// Stops what is in progress and what is queued in a chat.
    pub(crate) fn stop_all(&self, user: UserId, chat: &ChatId) -> usize {
        self.running.cancel(user, chat) + self.stop_answers(user, chat)
    }

    /// Stops the sub-agents in the background that a chat's agent called; returns their number.
    pub(crate) async fn stop_background(&self, user: UserId, chat: &ChatId) -> usize {
        let open = match self.store.background_open(user, chat).await {
            Ok(open) => open,
            Err(error) => {
                tracing::error!(%error, %chat, "the sub-agents in the background could not be found, and go on");
                return 0;
            }
        };
        let mut stopped = 0;
        for turn in open {
            stopped += self.stop_one(user, &turn.chat).await;
        }
        stopped
    }

    /// True if a message's question waits for this user's answer.
    pub(crate) fn is_waited_for(&self, user: UserId, message: MessageId) -> bool {
        self.asks.is_waited_for_at_all(user, message)
    }

    /// True if the server is stopping, or is not this user's home any more.
    pub(crate) fn is_stopping(&self, user: UserId) -> bool {
        self.stops.is_stopping(user)
    }

    pub(crate) fn tell(&self, user: UserId, event: ChatEvent) {
        self.bus.send(user, event);
    }

    /// Stores a message without a command and sends its event. A notice is stored in its user's language.
    pub(crate) async fn say(
        &self,
        user: UserId,
        chat: &ChatId,
        role: MessageRole,
        text: &str,
    ) -> store::Result<Message> {
        let notice = (role == MessageRole::Notice).then(|| self.in_words_of(user, text));
        self.say_as_it_is(user, chat, role, notice.as_deref().unwrap_or(text)).await
    }

    /// The same with a text that is in its user's language already, or has words of theirs that are not to be translated.
    pub(crate) async fn say_as_it_is(
        &self,
        user: UserId,
        chat: &ChatId,
        role: MessageRole,
        text: &str,
    ) -> store::Result<Message> {
        let message = self.store.append_message(user, chat, role, text, None).await?;
        self.tell(user, ChatEvent::Message(message.clone()));
        Ok(message)
    }

    /// Gives the message of a command a new text and document, and sends its event.
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

    /// True if an answer is in progress or queued in a chat.
    pub(crate) fn is_answering(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_working(user, chat)
    }

    /// True if a chat is to be compressed; asking resets it.
    pub(crate) fn takes_compression(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.take_compression(user, chat)
    }

    /// Stops the answer in progress in a chat, but no queued messages; returns the number of stopped answers.
    fn stop_answer(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop(user, chat) + self.at_work.cancel(user, chat)
    }

    /// Stops the answer in progress in a chat and all queued messages; returns their number.
    fn stop_answers(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.stop_all(user, chat) + self.at_work.cancel(user, chat)
    }

    /// True if no more messages can be queued in a chat.
    pub(crate) fn is_queue_full(&self, user: UserId, chat: &ChatId) -> bool {
        self.queue.is_full(user, chat)
    }

    /// The number of queued messages of a chat.
    pub(crate) fn waiting_messages(&self, user: UserId, chat: &ChatId) -> usize {
        self.queue.waiting(user, chat)
    }
}
