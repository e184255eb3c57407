//! Which tools a turn may use: all of them, or those that a sub-agent was given.

use std::collections::BTreeSet;

use super::call::{Entry, TOOLS, offered};
use crate::web::Web;

/// Whether sub-agents get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForSubAgents {
    /// As long as nobody says otherwise.
    Unasked,
    /// Where it is named.
    Named,
    /// Never: it is for whoever talks to the user.
    Never,
}

/// The tools of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolbox(BTreeSet<String>);

impl Toolbox {
    /// All tools there are with these ways to the internet.
    pub(crate) fn all(web: &Web) -> Self {
        Self(offered(web).map(|tool| tool.name.to_owned()).collect())
    }

    /// Whether it holds a tool.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.0.contains(name)
    }

    /// The same without a tool.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.0.remove(name);
        self
    }

    /// What two of them have in common.
    pub(crate) fn both(&self, other: &Self) -> Self {
        Self(self.0.intersection(&other.0).cloned().collect())
    }

    /// What a sub-agent gets of it: of what its role works with and its parent names, or else what it gets unasked.
    ///
    /// Fails with what the model is told where a named tool is not to be had, or nothing is left.
    pub(crate) fn for_sub_agent(
        &self,
        role: Option<&[String]>,
        named: Option<&[String]>,
    ) -> Result<Self, String> {
        let given = |least: &[ForSubAgents]| {
            let tools =
                TOOLS.iter().filter(|tool| least.contains(&tool.for_sub_agents) && self.holds(tool.name));
            Self(tools.map(|tool| tool.name.to_owned()).collect())
        };
        let mut own = match role {
            // A role is written for many parents; what this one has not is left out.
            Some(role) => given(&[ForSubAgents::Unasked, ForSubAgents::Named])
                .both(&Self(role.iter().cloned().collect())),
            None if named.is_some() => given(&[ForSubAgents::Unasked, ForSubAgents::Named]),
            None => given(&[ForSubAgents::Unasked]),
        };
        if let Some(named) = named {
            if let Some(missing) = named.iter().find(|name| !own.holds(name)) {
                return Err(format!(
                    "a sub-agent can have no tool {missing:?} here; it can have {}",
                    own.names()
                ));
            }
            own = Self(named.iter().cloned().collect());
        }
        if own.0.is_empty() {
            return Err("that leaves the sub-agent no tools".to_owned());
        }
        Ok(own)
    }

    /// All its tools, as a model is told of them. Always the same bytes.
    pub(crate) fn catalogue(&self) -> Vec<llm::Tool> {
        TOOLS.iter().filter(|tool| self.holds(tool.name)).map(Entry::describe).collect()
    }

    /// Their names, in the order that a model is told of them in.
    pub(super) fn names(&self) -> String {
        let names = TOOLS.iter().map(|tool| tool.name).filter(|name| self.holds(name));
        names.collect::<Vec<_>>().join(", ")
    }

    /// As it is kept.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("names are always JSON")
    }

    /// As it was kept; nothing where that cannot be read.
    pub(crate) fn from_json(json: &str) -> Self {
        Self(serde_json::from_str(json).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_sub_agent_gets_no_more_than_its_parent_and_some_things_only_where_they_are_named() {
        let all = Toolbox::all(&Web::default());
        let unasked = all.for_sub_agent(None, None).unwrap();
        assert!(unasked.holds("Shell") && !unasked.holds("SubAgent") && !unasked.holds("memory_write"));
        let named = all.for_sub_agent(None, Some(&names(&["Read", "SubAgent"]))).unwrap();
        assert_eq!(named.names(), "Read, SubAgent");
        assert_eq!(Toolbox::from_json(&named.to_json()), named);
        assert!(all.for_sub_agent(None, Some(&names(&["memory_write"]))).is_err());
        assert!(named.for_sub_agent(None, Some(&names(&["Shell"]))).unwrap_err().contains("can have Read"));
        let below = named.for_sub_agent(None, None).unwrap();
        assert_eq!(below.names(), "Read");
        assert_eq!(below.catalogue().len(), 1);
    }

    #[test]
    fn a_role_narrows_and_its_parent_narrows_further() {
        let all = Toolbox::all(&Web::default());
        let role = names(&["Read", "Grep", "Bash"]);
        assert_eq!(all.for_sub_agent(Some(&role), None).unwrap().names(), "Read, Grep");
        assert_eq!(all.for_sub_agent(Some(&role), Some(&names(&["Grep"]))).unwrap().names(), "Grep");
        assert!(all.for_sub_agent(Some(&role), Some(&names(&["Shell"]))).is_err());
        assert!(all.for_sub_agent(Some(&names(&["Bash"])), None).unwrap_err().contains("no tools"));
        assert!(all.for_sub_agent(None, Some(&[])).is_err());
        assert_eq!(all.without("Read").both(&Toolbox::from_json("nonsense")).names(), "");
    }
}
