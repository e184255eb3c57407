//! The turns above a turn, and the permissions it inherits from them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use llm::slots::Kind;
use records::{ChatId, TurnId};

use super::Delegation;
use crate::engine::ports::Display;
use crate::limits::{SUB_AGENT_DEPTH, SUB_AGENT_ITERATIONS, SUB_AGENTS_PER_TURN, TURN_ITERATIONS};
use crate::models::Place;
use crate::tool::Toolbox;

/// A turn's position: at the top, or below other turns.
pub struct TurnAncestry {
    root: ChatId,
    turn: TurnId,
    depth: usize,
    tools: Toolbox,
    /// The number of sub-agents called so far in the top turn, at any depth.
    called: Arc<AtomicUsize>,
    /// The top turn's place among the answers in progress; it is given back while any turn below waits for the user.
    place: Arc<OnceLock<Place>>,
    /// The value of `place` for a turn that occupies no place.
    no_place: Place,
    /// The user's own chat, as the user sees it.
    users_display: Arc<dyn Display>,
    delegation: Option<Delegation>,
}

impl TurnAncestry {
    /// The ancestry of a turn of a user's own chat.
    pub fn top(chat: &ChatId, turn: TurnId, tools: Toolbox, users_display: Arc<dyn Display>) -> Self {
        let (called, place, no_place, delegation) = Default::default();
        Self { root: chat.clone(), turn, depth: 0, tools, called, place, no_place, users_display, delegation }
    }

    /// The ancestry of a turn below this one, with these tools and this delegation.
    pub(super) fn below(&self, tools: Toolbox, delegation: Delegation) -> Self {
        let depth = self.depth + 1;
        let tools = if depth < SUB_AGENT_DEPTH { tools } else { tools.without_sub_agents() };
        Self {
            root: self.root.clone(),
            turn: self.turn,
            depth,
            tools,
            called: Arc::clone(&self.called),
            place: Arc::clone(&self.place),
            no_place: Place::default(),
            users_display: Arc::clone(&self.users_display),
            delegation: Some(delegation),
        }
    }

    /// Counts one more sub-agent.
    ///
    /// Fails with a text for the model if the limit on depth or number is reached.
    pub(super) fn take_place(&self) -> Result<(), String> {
        if self.depth >= SUB_AGENT_DEPTH {
            return Err(format!(
                "sub-agents can be nested at most {SUB_AGENT_DEPTH} levels deep; do this yourself"
            ));
        }
        if self.called.fetch_add(1, Ordering::Relaxed) >= SUB_AGENTS_PER_TURN {
            return Err(format!(
                "{SUB_AGENTS_PER_TURN} sub-agents were already called for this message; do the rest yourself"
            ));
        }
        Ok(())
    }

    /// The turn's place among the answers in progress.
    pub fn place(&self) -> &Place {
        self.place.get().unwrap_or(&self.no_place)
    }

    /// True if the turn has taken a place, or waits for one.
    pub(in crate::engine) fn has_place(&self) -> bool {
        self.place.get().is_some()
    }

    /// Sets the turn's place; for the top turn, this happens once.
    pub(in crate::engine) fn put_in(&self, place: Place) -> &Place {
        self.place.get_or_init(|| place)
    }

    /// The chat that the user talks in: questions are asked there, and its mode applies to all turns below.
    pub fn root(&self) -> &ChatId {
        &self.root
    }

    /// The turn of that chat: an undo of it reverts the changes of all turns below.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// The tools that the turn may use.
    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// The user's own chat, as they see it: a sub-agent's questions are asked there.
    pub(in crate::engine) fn users_display(&self) -> &Arc<dyn Display> {
        &self.users_display
    }

    /// The delegation that the turn serves, if it is a sub-agent's turn.
    pub fn delegation(&self) -> Option<&Delegation> {
        self.delegation.as_ref()
    }

    /// The number of answers that the turn's model may give.
    pub(in crate::engine) fn iterations(&self) -> usize {
        if self.delegation.is_some() { SUB_AGENT_ITERATIONS } else { TURN_ITERATIONS }
    }

    /// The kind of slots that its model's answers take.
    pub(in crate::engine) fn slots(&self, own: Kind) -> Kind {
        if self.delegation.is_some() { Kind::SubAgent } else { own }
    }
}

#[cfg(test)]
mod tests {
    use records::MessageId;

    use super::*;
    use crate::engine::tests::{Chat, Does, Fake, Log};
    use crate::tool::{Registry, SubAgentState};

    fn all() -> Toolbox {
        let (log, tools) = (Log::default(), Registry::default());
        tools.put(Fake::reads(&log, "Read", Does::Echo(0)));
        tools.put(Fake::delegates(&log));
        tools.snapshot()
    }

    fn top() -> TurnAncestry {
        TurnAncestry::top(&ChatId::random(), TurnId(1), all(), Arc::new(Chat::default()))
    }

    fn delegation() -> Delegation {
        let agent = SubAgentState {
            chat: ChatId::random(),
            role: None,
            instance: None,
            place: None,
            steps: 0,
            doing: String::new(),
            cost: None,
            is_background: false,
        };
        Delegation {
            role_text: String::new(),
            tier: None,
            display: Arc::new(Chat::default()),
            card: MessageId(1),
            tool: "SubAgent".to_owned(),
            hint: String::new(),
            place: None,
            agent,
            steps: 0.into(),
        }
    }

    #[test]
    fn sub_agents_go_three_deep_and_the_last_ones_have_no_tool_for_more() {
        let mut ancestry = top();
        let (root, own) = (ancestry.root().clone(), (ancestry.iterations(), ancestry.slots(Kind::Shared)));
        assert_eq!(own, (TURN_ITERATIONS, Kind::Shared));
        for depth in 1..=SUB_AGENT_DEPTH {
            assert!(ancestry.tools().holds("SubAgent"), "{depth}");
            ancestry.take_place().unwrap();
            ancestry = ancestry.below(all(), delegation());
            assert_eq!(ancestry.root(), &root);
            assert_eq!(ancestry.iterations(), SUB_AGENT_ITERATIONS);
            assert_eq!(ancestry.slots(Kind::Personal), Kind::SubAgent);
        }
        assert!(!ancestry.tools().holds("SubAgent") && ancestry.tools().holds("Read"));
        assert!(ancestry.take_place().unwrap_err().contains("3 levels deep"));
    }

    #[test]
    fn a_turn_calls_so_many_sub_agents_whoever_calls_them() {
        let highest = top();
        let below = highest.below(all(), delegation());
        for number in 0..SUB_AGENTS_PER_TURN {
            [&highest, &below][number % 2].take_place().unwrap();
        }
        assert!(highest.take_place().is_err() && below.take_place().is_err());
        assert!(top().take_place().is_ok(), "the next turn has places of its own");
    }
}
