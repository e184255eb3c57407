//! The turns above a turn, and what they allow it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use llm::slots::Kind;
use records::{ChatId, TurnId};

use super::Delegation;
use crate::engine::ports::Display;
use crate::limits::{SUB_AGENT_DEPTH, SUB_AGENT_ITERATIONS, SUB_AGENTS_PER_TURN, TURN_ITERATIONS};
use crate::models::Place;
use crate::tool::Toolbox;

/// Where a turn stands: at the top, or below others.
pub struct TurnAncestry {
    root: ChatId,
    turn: TurnId,
    depth: usize,
    tools: Toolbox,
    /// Sub-agents that were called so far in the turn at the top, by whomever.
    called: Arc<AtomicUsize>,
    /// The place of the turn at the top among the answers under way: given back while anybody beneath it waits for the user.
    place: Arc<OnceLock<Place>>,
    /// The user's own chat, as they see it.
    users_display: Arc<dyn Display>,
    delegation: Option<Delegation>,
}

impl TurnAncestry {
    /// Of a turn of a user's own chat.
    pub fn top(chat: &ChatId, turn: TurnId, tools: Toolbox, users_display: Arc<dyn Display>) -> Self {
        let (called, place, delegation) = Default::default();
        Self { root: chat.clone(), turn, depth: 0, tools, called, place, users_display, delegation }
    }

    /// Of a turn beneath this one, with these tools of its own.
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
            users_display: Arc::clone(&self.users_display),
            delegation: Some(delegation),
        }
    }

    /// Takes a place for one more sub-agent.
    ///
    /// Fails with what the model is told where there is none.
    pub(super) fn take_place(&self) -> Result<(), String> {
        if self.depth >= SUB_AGENT_DEPTH {
            return Err(format!("sub-agents may be nested {SUB_AGENT_DEPTH} deep at most; do this yourself"));
        }
        if self.called.fetch_add(1, Ordering::Relaxed) >= SUB_AGENTS_PER_TURN {
            return Err(format!(
                "{SUB_AGENTS_PER_TURN} sub-agents were called for this message already; do the rest yourself"
            ));
        }
        Ok(())
    }

    /// The turn's place among the answers under way.
    pub(in crate::engine) fn place(&self) -> &Place {
        self.place.get_or_init(Place::default)
    }

    /// Says which place that is; for the turn at the top, once.
    pub(in crate::engine) fn put_in(&self, place: Place) -> &Place {
        self.place.get_or_init(|| place)
    }

    /// The chat that the user talks in: what is asked is asked there, and its mode holds for all beneath it.
    pub fn root(&self) -> &ChatId {
        &self.root
    }

    /// The turn of that chat: what is changed by all beneath it is taken back with it.
    pub fn turn(&self) -> TurnId {
        self.turn
    }

    /// What the turn may use.
    pub fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// The user's own chat, as they see it: what a sub-agent asks is asked there.
    pub(in crate::engine) fn users_display(&self) -> &Arc<dyn Display> {
        &self.users_display
    }

    /// What it was called for, where it is a sub-agent's.
    pub fn delegation(&self) -> Option<&Delegation> {
        self.delegation.as_ref()
    }

    /// How often its model may answer.
    pub(in crate::engine) fn iterations(&self) -> usize {
        if self.delegation.is_some() { SUB_AGENT_ITERATIONS } else { TURN_ITERATIONS }
    }

    /// Whose slots its model's answers take.
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
            steps: 0,
            doing: String::new(),
            cost: None,
        };
        Delegation {
            role_text: String::new(),
            tier: None,
            display: Arc::new(Chat::default()),
            card: MessageId(1),
            tool: "SubAgent",
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
        assert!(ancestry.take_place().unwrap_err().contains("3 deep"));
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
