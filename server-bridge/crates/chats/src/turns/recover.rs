//! The turns that were open when an earlier run of the server ended: queued ones begin, those in progress are resumed.

use std::collections::HashSet;
use std::sync::Arc;

use store::{ChatId, OpenTurn, TurnId, TurnStatus, UserId};

use super::{background, work};
use crate::Result;
use crate::house::House;
use crate::queue::Waiting;
use crate::stored::{GIVEN_UP, give_up};

/// The turns that are resumed, and their conversations.
#[derive(Default)]
struct GoingOn {
    turns: HashSet<TurnId>,
    chats: HashSet<ChatId>,
    /// The turns that the user stopped.
    stopped: HashSet<TurnId>,
}

impl GoingOn {
    /// True if the parent turn of a sub-agent's turn is resumed: the parent then finds the sub-agent by its call.
    fn takes_up(&self, turn: &OpenTurn) -> bool {
        turn.card.is_some()
            && turn.root.is_some_and(|root| self.turns.contains(&root))
            && turn.parent.as_ref().is_some_and(|parent| self.chats.contains(parent))
    }
}

/// Resumes every open turn, of a user or of all users, after a restart; `agent::engine` describes how those in progress are resumed. A
/// sub-agent's turn is part of another turn, and stays open if that one resumes it. Called when the server starts, or claims the user's
/// home.
pub(crate) async fn recover(service: &Arc<House>, of: Option<UserId>) -> Result<usize> {
    let open = service.store.open_turns(of).await?;
    let count = open.len();
    let (mut going_on, mut begin) = (GoingOn::default(), Vec::new());
    // The turns are ordered: a sub-agent's turn is after its parent's. None begins before all have been decided on.
    for turn in open {
        let Some(user) = service.store.user_by_id(turn.user).await? else { continue };
        let Some(message) = turn.message else {
            service.store.withdraw_asks(turn.id).await?;
            service.store.finish_turn(turn.id, TurnStatus::Interrupted, None).await?;
            continue;
        };
        let is_stopped = turn.is_cancelled || turn.root.is_some_and(|root| going_on.stopped.contains(&root));
        let ending = if is_stopped {
            going_on.stopped.insert(turn.id);
            Some((TurnStatus::Cancelled, None))
        } else {
            let goes_on = match &turn.parent {
                // The resumptions of a background turn are counted when it is actually resumed.
                Some(_) if turn.is_background => true,
                Some(_) => going_on.takes_up(&turn),
                None => turn.status != TurnStatus::Running || service.store.resume_turn(turn.id).await?,
            };
            (!goes_on).then_some((TurnStatus::Interrupted, Some(GIVEN_UP)))
        };
        if let Some(ending) = ending {
            give_up(service, &user, &turn.chat, (turn.id, message), ending).await?;
            continue;
        }
        going_on.turns.insert(turn.id);
        going_on.chats.insert(turn.chat.clone());
        if let Some(root) = turn.root.filter(|_| turn.is_background) {
            // The sub-agents below it belong to the same top turn, which may have ended.
            going_on.turns.insert(root);
        }
        if turn.parent.is_none() {
            let goes_on = turn.status == TurnStatus::Running;
            let waiting = Waiting { turn: turn.id, message, goes_on, is_background: false, client: None };
            begin.push((user, turn.chat, waiting));
        }
    }
    let mut begun = HashSet::new();
    for (user, chat, waiting) in begin {
        begun.insert(waiting.turn);
        service.queue.restore(user.id, &chat).fill(waiting);
        work(service, &user, &chat);
    }
    background::recover(service, of, |turn| begun.contains(&turn)).await?;
    Ok(count)
}
