//! [`House`], the shared state of this crate, and its common operations: storing a message, and sending changes.

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
use crate::terminals::Terminals;
use crate::{ChatEvent, Result, exec_document};

/// Answers the messages that users write in chats. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct ChatService(pub(crate) Arc<House>);

/// The shared state for answers in chats. The rest of the crate depends on it; it depends on nothing else in the crate.
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
    /// The terminals in which the messages of turns were written.
    pub(crate) terminals: Terminals,
    /// The services that tools get, which the rest of the crate uses too: the store, the machines, the execs.
    pub(crate) services: Services,
    pub(crate) tools: Registry,
    /// The slash commands of extensions.
    pub(crate) commands: CommandSources,
    /// The hooks that run at points of turns.
    pub(crate) hooks: Hooks,
    /// The parts of the prompt.
    pub(crate) prompt: PromptParts,
    pub(crate) tasks: TaskTracker,
    pub(crate) stops: Stops,
    pub(crate) bus: Bus,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) languages: Arc<Languages>,
    pub(crate) rules: RuleBook,
    /// The approvals of definitions in workspaces; unset before extensions set it.
    pub(crate) trusts: OnceLock<Arc<dyn Trusts>>,
    /// Spawns the queued background turn of the sub-agent with this chat, unless it is already in progress.
    pub(crate) begin_background: fn(&Arc<House>, &store::User, &ChatId),
}

impl Deref for House {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl House {
    /// Translates one of the server's texts into this user's language.
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

    /// Adds an audit entry for a user's action. A failure is only logged, because the action has been carried out.
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

    /// Notifies the user's clients that a chat, but not its messages, has changed.
    pub(crate) async fn tell_chat(&self, user: UserId, chat: &ChatId) -> Result<()> {
        let chat = self.store.chat(user, chat).await?;
        self.tell(user, ChatEvent::Chat(chat));
        Ok(())
    }

    /// Stops the work in progress in a chat, and its sub-agents in the background. The stop is recorded, so a restarted server does not
    /// resume them. Queued work continues.
    pub(crate) async fn stop(&self, user: UserId, chat: &ChatId) -> usize {
        self.stop_one(user, chat).await + self.stop_background(user, chat).await
    }

    /// Like [`Self::stop`], but without the sub-agents in the background.
    pub(crate) async fn stop_one(&self, user: UserId, chat: &ChatId) -> usize {
        let stopped = self.running.cancel(user, chat) + self.stop_answer(user, chat);
        if let Err(error) = self.store.cancel_turn(user, chat).await {
            tracing::error!(%error, %chat, "the stop of an answer could not be recorded; the answer is resumed if the server ends now");
        }
        // A sub-agent that is being resumed after a restart may have read its record just before, so it is cancelled here too.
        stopped + self.at_work.cancel(user, chat)
    }

    /// Stops the work in progress and the queued work of a chat.
    pub(crate) fn stop_all(&self, user: UserId, chat: &ChatId) -> usize {
        self.running.cancel(user, chat) + self.stop_answers(user, chat)
    }

    /// Stops the sub-agents in the background that a chat's agent called; returns their number.
    pub(crate) async fn stop_background(&self, user: UserId, chat: &ChatId) -> usize {
        let open = match self.store.background_open(user, chat).await {
            Ok(open) => open,
            Err(error) => {
                tracing::error!(%error, %chat, "the sub-agents in the background could not be found, so they continue");
                return 0;
            }
        };
        let mut stopped = 0;
        for turn in open {
            stopped += self.stop_one(user, &turn.chat).await;
        }
        stopped
    }

    /// True if the question in a message waits for this user's answer.
    pub(crate) fn is_waited_for(&self, user: UserId, message: MessageId) -> bool {
        self.asks.is_waited_for_at_all(user, message)
    }

    /// True if the server is stopping, or is no longer this user's home.
    pub(crate) fn is_stopping(&self, user: UserId) -> bool {
        self.stops.is_stopping(user)
    }

    pub(crate) fn tell(&self, user: UserId, event: ChatEvent) {
        self.bus.send(user, event);
    }

    /// Stores a message that does not show a command, and sends its event. A notice is stored in its user's language.
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

    /// Like [`Self::say`], for a text that is already in its user's language, or contains words of theirs that must not be translated.
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

    /// Gives the message that shows a command a new text and document, and sends its event.
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

    /// True if a chat is to be compressed; this call resets the request.
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
