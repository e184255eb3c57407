//! Sub-agents in the background: their turns, and the notifications of the agents that called them.
//!
//! ```text
//!   the call's result is on record ─▶ begin ─▶ queue of the sub-agent's chat ─▶ run ─▶ result on record
//!                                                                                         │
//!        the turn in progress is notified with its model's next request ◀── or, at rest ──┴─▶ a turn begins by itself
//! ```

use std::sync::Arc;

use agent::context::history;
use agent::engine::{Background, CalledFrom, SubAgentEnd, SubAgentTask, TurnAncestry, TurnEnd};
use agent::tool::{Failure, SubAgentState, TurnCost};
use store::{BackgroundTurn, ChatId, MessageId, MessageRole, TurnId, TurnStatus, User, UserId};
use tokio_util::sync::CancellationToken;

use super::{tools_of, top, work};
use crate::ChatEvent;
use crate::house::House;
use crate::limits::TURNS_BY_THEMSELVES;
use crate::queue::Waiting;
use crate::stored::{cut, reply, settle_asks, to_json, told};

/// Spawns the turn of a sub-agent whose call has its result on record.
pub(crate) fn begin_soon(service: &Arc<House>, user: &User, agent: &ChatId) {
    let (service, user, agent) = (Arc::clone(service), user.clone(), agent.clone());
    let tasks = service.tasks.clone();
    tasks.spawn(store::patiently(async move { begin(&service, &user, |turn| turn.chat == agent).await }));
}

/// Begins the background turns of a chat that are not in progress, after a turn of that chat. If that turn had to be given up, the calls
/// of these sub-agents never get results, and so would never begin them.
pub(super) async fn begin_left(service: &Arc<House>, user: &User, chat: &ChatId) {
    begin(service, user, |turn| turn.parent == *chat).await;
}

async fn begin(service: &Arc<House>, user: &User, which: impl Fn(&BackgroundTurn) -> bool) {
    match service.store.background_to_do(Some(user.id)).await {
        Ok(found) => {
            for turn in found.into_iter().filter(which) {
                start(service, user, turn);
            }
        }
        Err(error) => {
            tracing::error!(%error, "sub-agents in the background wait for the next answer, or the server's next start");
        }
    }
}

/// Resumes the background turns, of a user or of all users, after a restart. Agents whose sub-agents have ended are notified.
///
/// A turn that has not begun waits for the turn that called it, if that one `goes_on`: the call has no result on record yet, and when it
/// gets one, the card shows that result and would lose the sub-agent's own end.
pub(super) async fn recover(
    service: &Arc<House>,
    of: Option<UserId>,
    goes_on: impl Fn(TurnId) -> bool,
) -> store::Result<()> {
    for turn in service.store.background_to_do(of).await? {
        if turn.status != TurnStatus::Running && goes_on(turn.root) {
            continue;
        }
        if let Some(user) = service.store.user_by_id(turn.user).await? {
            settle_asks(service, &user, &turn.parent, turn.root).await?;
            start(service, &user, turn);
        }
    }
    for (user, chat) in service.store.chats_to_tell(of).await? {
        if let Some(user) = service.store.user_by_id(user).await? {
            tell_soon(service, &user, &chat);
        }
    }
    Ok(())
}

/// Queues a turn in the background, unless it is already queued or in progress.
pub(super) fn start(service: &Arc<House>, user: &User, turn: BackgroundTurn) {
    // A turn without a message has ended on record, and only its result is missing.
    let message = turn.message.unwrap_or(MessageId(0));
    let goes_on = turn.status == TurnStatus::Running;
    let waiting = Waiting { turn: turn.id, message, goes_on, is_background: true, client: None };
    service.queue.restore(user.id, &turn.chat).fill(waiting);
    work(service, user, &turn.chat);
}

/// Runs a turn in the background to its end, and records the result. A failure of the store is logged; a restart resumes the turn.
pub(super) async fn run(
    service: &Arc<House>,
    user: &User,
    turn: TurnId,
    (cancelled, stop): (&CancellationToken, &CancellationToken),
) {
    let ran = async {
        let turn = store::until_done(|| service.store.background_turn(user.id, turn)).await?;
        match turn {
            Some(turn) => run_recorded(service, user, turn, cancelled).await,
            None => Ok(()),
        }
    };
    let ran = tokio::select! {
        biased;
        // The turn stays open on record for the next start.
        () = stop.cancelled() => return,
        ran = ran => ran,
    };
    if let Err(error) = ran {
        tracing::error!(%error, %turn, "a sub-agent in the background ended without a result on record");
    }
}

async fn run_recorded(
    service: &Arc<House>,
    user: &User,
    turn: BackgroundTurn,
    cancelled: &CancellationToken,
) -> store::Result<()> {
    let BackgroundTurn { id, chat, parent, root, card, .. } = turn;
    let tools = tokio::select! {
        tools = tools_of(service, user, &parent) => tools,
        () = cancelled.cancelled() => agent::tool::Toolbox::default(),
    };
    let (ports, above) = top(service, user, &parent, root, tools);
    // A turn whose record cannot be parsed gets no tools and no role.
    let background: Background = serde_json::from_str(&turn.background_json).unwrap_or_default();
    let worktree = background.worktree;
    let agent = SubAgentState {
        chat: chat.clone(),
        role: turn.role,
        instance: turn.instance,
        place: None,
        steps: 0,
        doing: String::new(),
        cost: None,
        is_background: true,
    };
    let display = Arc::clone(&ports.display);
    let from = CalledFrom { chat: parent.clone(), turn: root, card, tools: above.tools().clone(), display };
    let ancestry = TurnAncestry::in_background(from, agent, background);
    let task =
        SubAgentTask { chat: &chat, card, text: "", worktree, goes_on: true, ancestry: &ancestry, cancelled };
    let end = match ports.sub_agents.run(task).await {
        Ok(end) => end,
        Err(Failure::Message(why) | Failure::Refused { text: why, .. } | Failure::Away { text: why, .. }) => {
            let status = if cancelled.is_cancelled() { TurnStatus::Cancelled } else { TurnStatus::Failed };
            let turn = TurnEnd { status, error: Some(why), cost: TurnCost::default(), words: None };
            SubAgentEnd { turn, worktree: None }
        }
        // The chat was deleted.
        Err(Failure::Port(agent::PortError::Gone(_))) => return Ok(()),
        Err(Failure::Port(error)) => {
            tracing::error!(%error, turn = %id, "a sub-agent in the background stopped because the store failed");
            return Ok(());
        }
    };
    let is_cancelled = end.turn.status == TurnStatus::Cancelled;
    let text = match ancestry.end_in_background(end).await {
        Ok(outcome) => outcome.text,
        Err(error) => {
            tracing::warn!(%error, turn = %id, "the card of a sub-agent in the background could not be changed");
            return Ok(());
        }
    };
    let unread = store::until_done(|| service.store.unread_background_messages(id)).await?;
    let text = cut(&format!("{}{text}", not_read(unread)));
    if store::until_done(|| service.store.put_background_result(id, &text)).await? && !is_cancelled {
        tell_soon(service, user, &parent);
    }
    Ok(())
}

/// The note, before the result, about messages that the sub-agent did not read.
fn not_read(messages: u64) -> String {
    match messages {
        0 => String::new(),
        1 => {
            "(It ended before it read your last message. Call it again if that still matters.)\n\n".to_owned()
        }
        messages => format!(
            "(It ended before it read your last {messages} messages. Call it again if they still matter.)\n\n"
        ),
    }
}

/// Schedules the notification of a chat's agent about sub-agents that have ended: in the turn in progress, or in a new turn.
pub(super) fn tell_soon(service: &Arc<House>, user: &User, chat: &ChatId) {
    service.queue.tell(user.id, chat);
    work(service, user, chat);
}

/// Calls [`tell`]; a failure is logged.
pub(super) async fn tell_logged(service: &Arc<House>, user: &User, chat: &ChatId) {
    if let Err(error) = tell(service, user, chat).await {
        tracing::error!(%error, %chat, "an agent could not be notified of the end of a sub-agent; the next answer does that");
    }
}

/// Queues a turn that notifies a chat's agent of the sub-agents that have ended, unless a turn has already done so.
async fn tell(service: &Arc<House>, user: &User, chat: &ChatId) -> store::Result<()> {
    let store = &service.store;
    let ended = store.background_ended(user.id, chat).await?;
    if ended.iter().all(|turn| turn.status == TurnStatus::Cancelled) {
        return Ok(());
    }
    if store.turns_by_themselves(user.id, chat).await? >= TURNS_BY_THEMSELVES {
        let text = format!(
            "A sub-agent has ended. The last {TURNS_BY_THEMSELVES} answers began without a message from you, so this one waits for your next message."
        );
        service.say(user.id, chat, MessageRole::Notice, &text).await?;
        return Ok(());
    }
    let ids: Vec<TurnId> = ended.iter().map(|turn| turn.id).collect();
    let names: Vec<String> = ended.iter().map(name).collect();
    let notice = service.in_words_of(user.id, &format!("Sub-agents that have ended: {}", names.join(", ")));
    let item = history::to_json(&told(&ended));
    let document = to_json(&reply(TurnStatus::Queued));
    let queued = store.queue_telling_turn(user.id, chat, &ids, &notice, (&document, &item)).await?;
    let Some((said, shown, turn)) = queued else { return Ok(()) };
    let message = shown.id;
    service.tell(user.id, ChatEvent::Message(said));
    service.tell(user.id, ChatEvent::Message(shown));
    let waiting = Waiting { turn, message, goes_on: false, is_background: false, client: None };
    service.queue.restore(user.id, chat).fill(waiting);
    Ok(())
}

/// A sub-agent's name for people.
fn name(turn: &BackgroundTurn) -> String {
    match (&turn.role, &turn.instance) {
        (Some(role), Some(instance)) => format!("{role} {instance}"),
        (Some(name), None) | (None, Some(name)) => name.clone(),
        (None, None) => turn.chat.to_string(),
    }
}
