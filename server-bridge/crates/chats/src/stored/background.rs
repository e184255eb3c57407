//! Sub-agents in the background: the port of the turns that call them, and of their own turns.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use agent::context::history;
use agent::engine::{Asked, BackgroundAgents, BackgroundMessage, BackgroundTask};
use agent::tool::Failure;
use api::document::AgentDocument;
use futures_util::future::BoxFuture;
use llm::Message;
use store::{
    BackgroundTurn, ChatId, ItemId, NewBackground, NewDelegation, Sent, TurnId, TurnStatus, User, UserId,
};
use tokio::time::{Instant, sleep};
use tools::Ported;

use super::screen::settled;
use super::{Screen, Stored, asked, reply, to_json};
use crate::house::House;
use crate::limits::{REST_LOOK_MS, SUB_AGENT_END_PATIENCE_MS, SUB_AGENTS_IN_BACKGROUND};
use crate::{ChatEvent, document};

impl BackgroundAgents for Stored {
    fn check(&self) -> BoxFuture<'_, Result<(), Failure>> {
        Box::pin(self.check_background())
    }

    fn begin<'a>(&'a self, task: BackgroundTask<'a>) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(self.begin_in_background(task))
    }

    fn end<'a>(&'a self, chat: &'a ChatId) -> Asked<'a, bool> {
        asked(end_in_background(&self.service, self.user.id, &self.chat, chat))
    }

    fn send<'a>(&'a self, message: BackgroundMessage<'a>) -> Asked<'a, bool> {
        asked(self.send_to_background(message))
    }

    fn hear(&self) -> Asked<'_, Option<(ItemId, Message)>> {
        asked(async move {
            // Only the chat's own agent has sub-agents in the background, and only those sub-agents receive messages.
            if self.chat == self.root { self.tell_of_ended().await } else { self.read_message().await }
        })
    }
}

impl Stored {
    /// Puts the turn on record; see [`agent::engine::BackgroundAgents::begin`].
    pub(super) async fn begin_in_background(&self, task: BackgroundTask<'_>) -> Result<(), Failure> {
        let Self { service, user, .. } = self;
        let BackgroundTask { chat, card, text, background } = task;
        self.has_none_in_background.store(false, Ordering::Relaxed);
        let store = &service.store;
        let called = store.called_sub_agent(user.id, &self.chat, card).await.ported()?;
        if called.is_some_and(|called| called.turn.is_some()) {
            // The task was already queued before a restart.
            return Ok(());
        }
        let json = &serde_json::to_string(background).expect("texts and flags are always JSON");
        let new = NewDelegation {
            chat,
            card,
            root: self.turn,
            text,
            document_json: &to_json(&reply(TurnStatus::Queued)),
            item_json: &history::to_json(&Message::user(text)),
            background: Some(NewBackground { json, most: SUB_AGENTS_IN_BACKGROUND }),
        };
        let Some((said, shown, _)) = store.queue_delegated_turn(user.id, new).await.ported()? else {
            return Err(too_many());
        };
        service.tell(user.id, ChatEvent::Message(said));
        service.tell(user.id, ChatEvent::Message(shown));
        Ok(())
    }

    /// Checks the limit; see [`agent::engine::BackgroundAgents::check`].
    async fn check_background(&self) -> Result<(), Failure> {
        let store = &self.service.store;
        // Agents of a group work and ask in the foreground, in the group's log.
        if store.agent_of_chat(&self.root).await.ported()?.is_some() {
            let text = "an agent of a group has no sub-agents in the background; leave `background` out, or use SendMessage";
            return Err(Failure::Message(text.to_owned()));
        }
        let at_work = store.background_open(self.user.id, &self.chat).await.ported()?.len();
        if at_work as u64 >= SUB_AGENTS_IN_BACKGROUND { Err(too_many()) } else { Ok(()) }
    }

    /// Stores a message; see [`agent::engine::BackgroundAgents::send`].
    async fn send_to_background(&self, message: BackgroundMessage<'_>) -> store::Result<bool> {
        let BackgroundMessage { chat, card, text } = message;
        let item_json = &history::to_json(&Message::user(text));
        let new = store::BackgroundMessage { parent: &self.chat, agent: chat, card, text, item_json };
        match self.service.store.send_to_background(self.user.id, new).await? {
            Sent::Now(said) => self.service.tell(self.user.id, ChatEvent::Message(said)),
            Sent::Before => {}
            Sent::NotAtWork => return Ok(false),
        }
        Ok(true)
    }

    /// The next unread message to this sub-agent.
    async fn read_message(&self) -> store::Result<Option<(ItemId, Message)>> {
        let read = self.service.store.read_background_message(self.turn).await?;
        Ok(read.and_then(|(item, json)| Some((item, history::from_json(&json)?))))
    }

    /// Adds a message about the sub-agents that have ended, unless a turn has already been notified of them.
    async fn tell_of_ended(&self) -> store::Result<Option<(ItemId, Message)>> {
        if self.has_none_in_background.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let store = &self.service.store;
        let untold = store.background_untold(self.user.id, &self.chat).await?;
        self.has_none_in_background.store(untold.is_empty(), Ordering::Relaxed);
        let (ended, left): (Vec<_>, Vec<_>) = untold.into_iter().partition(|turn| turn.result_text.is_some());
        for turn in left.into_iter().filter(|turn| turn.status != TurnStatus::Running) {
            // The results of the calls are on record, so these turns may begin. A server that died may have failed to begin them.
            (self.service.begin_background)(&self.service, &self.user, &turn.chat);
        }
        if ended.is_empty() {
            return Ok(None);
        }
        let ids: Vec<TurnId> = ended.iter().map(|turn| turn.id).collect();
        let message = told(&ended);
        let item = store.tell_of_background(self.turn, &ids, &history::to_json(&message)).await?;
        Ok(item.map(|item| (item, message)))
    }
}

/// The refusal if too many sub-agents are at work.
fn too_many() -> Failure {
    Failure::Message(format!(
        "{SUB_AGENTS_IN_BACKGROUND} sub-agents are at work in the background of this chat, which is the limit; wait until one of them has \
         ended, end one with task_kill, or call this one without `background`"
    ))
}

/// Stops a sub-agent in the background, and waits a moment for it to end; true if it has ended.
pub(crate) async fn end_in_background(
    service: &Arc<House>,
    user: UserId,
    parent: &ChatId,
    chat: &ChatId,
) -> store::Result<bool> {
    service.stop_one(user, chat).await;
    let deadline = Instant::now() + Duration::from_millis(SUB_AGENT_END_PATIENCE_MS);
    loop {
        let open = service.store.background_open(user, parent).await?;
        if open.iter().all(|turn| turn.chat != *chat) {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        sleep(Duration::from_millis(REST_LOOK_MS)).await;
    }
}

/// Ends the questions of sub-agents that nothing waits for any more: after a restart, they are asked again in new messages.
pub(crate) async fn settle_asks(
    service: &Arc<House>,
    user: &User,
    chat: &ChatId,
    turn: TurnId,
) -> store::Result<()> {
    let store = &service.store;
    for id in store.asks_of_turn(turn).await? {
        let message = store.message(user.id, id).await?;
        let Some(document @ AgentDocument::Tool { asked_by: Some(_), .. }) = document::agent(&message) else {
            continue;
        };
        let Some(settled) = settled(document).filter(|_| !service.is_waited_for(user.id, id)) else {
            continue;
        };
        store.withdraw_ask(user.id, id).await?;
        Screen { service, user, chat, turn }.change(id, &message.text, &settled).await?;
    }
    Ok(())
}

/// The message that notifies a model of sub-agents that have ended. It quotes none of their text, because it has the role of the user:
/// the model reads their answers as tool results.
pub(crate) fn told(ended: &[BackgroundTurn]) -> Message {
    let lines = ended.iter().map(|turn| format!("task {}: {}", turn.chat, turn.status.as_str()));
    let lines: Vec<String> = lines.collect();
    Message::user(format!(
        "(From the server, not from the user. These sub-agents in the background have ended; task_read returns the result of each:\n{})",
        lines.join("\n")
    ))
}
