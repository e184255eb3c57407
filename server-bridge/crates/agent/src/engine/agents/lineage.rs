//! What a turn is beneath, and what that allows it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use llm::slots::Kind;
use store::{ChatId, TurnId};

use super::Errand;
use crate::limits::{SUB_AGENT_DEPTH, SUB_AGENT_ITERATIONS, SUB_AGENTS_PER_TURN, TURN_ITERATIONS};
use crate::models::Place;
use crate::tool::Toolbox;

/// Where a turn stands: at the top, or beneath others.
pub(crate) struct Lineage {
    root: ChatId,
    turn: TurnId,
    depth: usize,
    tools: Toolbox,
    /// Sub-agents that were called so far in the turn at the top, by whomever.
    called: Arc<AtomicUsize>,
    /// The place of the turn at the top among the answers under way: given back while anybody beneath it waits for the user.
    place: Arc<OnceLock<Place>>,
    errand: Option<Errand>,
}

impl Lineage {
    /// Of a turn of a user's own chat.
    pub(crate) fn top(chat: &ChatId, turn: TurnId, tools: Toolbox) -> Self {
        let (called, place, errand) = Default::default();
        Self { root: chat.clone(), turn, depth: 0, tools, called, place, errand }
    }

    /// Of a turn beneath this one, with these tools of its own.
    pub(super) fn beneath(&self, tools: Toolbox, errand: Errand) -> Self {
        let depth = self.depth + 1;
        let tools = if depth < SUB_AGENT_DEPTH { tools } else { tools.without_sub_agents() };
        Self {
            root: self.root.clone(),
            turn: self.turn,
            depth,
            tools,
            called: Arc::clone(&self.called),
            place: Arc::clone(&self.place),
            errand: Some(errand),
        }
    }

    /// Takes a place for one more sub-agent.
    ///
    /// Fails with what the model is told where there is none.
    pub(super) fn take_place(&self) -> Result<(), String> {
        if self.depth >= SUB_AGENT_DEPTH {
            return Err(format!("sub-agents go {SUB_AGENT_DEPTH} deep and no deeper; do this yourself"));
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
    pub(crate) fn root(&self) -> &ChatId {
        &self.root
    }

    /// The turn of that chat: what is changed by all beneath it is taken back with it.
    pub(crate) fn turn(&self) -> TurnId {
        self.turn
    }

    /// What the turn may use.
    pub(crate) fn tools(&self) -> &Toolbox {
        &self.tools
    }

    /// What it was called for, where it is a sub-agent's.
    pub(in crate::engine) fn errand(&self) -> Option<&Errand> {
        self.errand.as_ref()
    }

    /// How often its model may answer.
    pub(in crate::engine) fn iterations(&self) -> usize {
        if self.errand.is_some() { SUB_AGENT_ITERATIONS } else { TURN_ITERATIONS }
    }

    /// Whose slots its model's answers take.
    pub(in crate::engine) fn slots(&self, own: Kind) -> Kind {
        if self.errand.is_some() { Kind::SubAgent } else { own }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(chat: &ChatId) -> Lineage {
        Lineage::top(chat, TurnId(1), all())
    }

    fn all() -> Toolbox {
        crate::tools::all(&crate::web::Web::default())
    }

    #[test]
    fn sub_agents_go_three_deep_and_the_last_ones_have_no_tool_for_more() {
        let mut lineage = top(&ChatId::random());
        let (root, own) = (lineage.root().clone(), (lineage.iterations(), lineage.slots(Kind::Shared)));
        assert_eq!(own, (TURN_ITERATIONS, Kind::Shared));
        for depth in 1..=SUB_AGENT_DEPTH {
            assert!(lineage.tools().holds("SubAgent"), "{depth}");
            lineage.take_place().unwrap();
            lineage = lineage.beneath(all(), Errand::for_tests(&root));
            assert_eq!(lineage.root(), &root);
            assert_eq!(lineage.iterations(), SUB_AGENT_ITERATIONS);
            assert_eq!(lineage.slots(Kind::Personal), Kind::SubAgent);
        }
        assert!(!lineage.tools().holds("SubAgent") && lineage.tools().holds("Read"));
        assert!(lineage.take_place().unwrap_err().contains("3 deep"));
    }

    #[test]
    fn a_turn_calls_so_many_sub_agents_whoever_calls_them() {
        let highest = top(&ChatId::random());
        let below = highest.beneath(all(), Errand::for_tests(highest.root()));
        for number in 0..SUB_AGENTS_PER_TURN {
            [&highest, &below][number % 2].take_place().unwrap();
        }
        assert!(highest.take_place().is_err() && below.take_place().is_err());
        assert!(top(highest.root()).take_place().is_ok(), "the next turn has places of its own");
    }
}
