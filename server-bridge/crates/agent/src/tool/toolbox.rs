//! The tools that a turn may use: all tools, or those that a sub-agent was given.

use std::collections::{BTreeSet, HashSet};
use std::ops::Deref;
use std::sync::Arc;

use llm::{Assistant, ToolCall};
use serde_json::{Map, Value};

use super::{Call, ForSubAgents, Offered, Rules, Tool, Understood};
use crate::library::Role;
use crate::limits::ARGUMENTS_BYTES;

/// The tools of a turn, in the order in which its model sees them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Toolbox(Arc<[Arc<dyn Tool>]>);

impl Deref for Toolbox {
    type Target = [Arc<dyn Tool>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<Arc<dyn Tool>>> for Toolbox {
    fn from(tools: Vec<Arc<dyn Tool>>) -> Self {
        Self(tools.into())
    }
}

impl Toolbox {
    /// True if the toolbox contains a tool with this name.
    pub fn holds(&self, name: &str) -> bool {
        self.iter().any(|tool| tool.name() == name)
    }

    /// The tools that models are offered.
    pub fn for_models(&self) -> Self {
        self.those(|tool| tool.rules().offered != Offered::ToPrograms)
    }

    /// The tools offered to programs, each with the name that programs use.
    pub fn for_programs(&self) -> impl Iterator<Item = (&str, &Arc<dyn Tool>)> {
        self.iter().filter_map(|tool| match tool.rules().offered {
            Offered::ToModels | Offered::ToNobody => None,
            Offered::ToPrograms => Some((tool.name(), tool)),
            Offered::ToBoth(name) => Some((name, tool)),
        })
    }

    /// The tools whose names are wanted; if some of them are deferred, also the tools that find deferred tools.
    pub fn named(&self, is_wanted: impl Fn(&str) -> bool) -> Self {
        let has_deferred = self.iter().any(|tool| tool.rules().is_deferred && is_wanted(tool.name()));
        self.chosen(|tool| is_wanted(tool.name()) || has_deferred && tool.rules().finds_tools, true)
    }

    /// The same tools without those that call sub-agents.
    pub fn without_sub_agents(&self) -> Self {
        self.those(|tool| tool.rules().beside != super::Beside::SubAgents)
    }

    /// The same tools without those that edit the conversation.
    pub fn without_edits(&self) -> Self {
        self.those(|tool| !tool.rules().edits_conversation)
    }

    /// The same tools for a turn whose message was not written in a terminal: those that operate one are not declared.
    pub fn without_terminal(&self) -> Self {
        let withheld = |tool: &Arc<dyn Tool>| match tool.rules().needs_terminal {
            true => Arc::new(Withheld(Arc::clone(tool))) as Arc<dyn Tool>,
            false => Arc::clone(tool),
        };
        Self(self.iter().map(withheld).collect())
    }

    /// The tools whose names are in a list of [`Toolbox::to_json`]; empty if the list cannot be read.
    pub fn of_json(&self, json: &str) -> Self {
        let names: BTreeSet<String> = serde_json::from_str(json).unwrap_or_default();
        self.those(|tool| names.contains(tool.name()))
    }

    /// The tools that a sub-agent gets: those of its role that its parent names, or by default those that all sub-agents get.
    ///
    /// Fails with a text for the model if a named tool is not available, or none is left.
    pub fn for_sub_agent(&self, role: Option<&Role>, named: Option<&[String]>) -> Result<Self, String> {
        let given = |least: &[ForSubAgents]| self.those(|tool| least.contains(&tool.rules().for_sub_agents));
        let mut own = match role.and_then(|role| role.tools.as_ref()) {
            // A role is written for many parents; tools that this one lacks are left out.
            Some(tools) => given(&[ForSubAgents::Unasked, ForSubAgents::Named])
                .those(|tool| tools.iter().any(|of_role| of_role.name == tool.name())),
            None if named.is_some() => given(&[ForSubAgents::Unasked, ForSubAgents::Named]),
            None => given(&[ForSubAgents::Unasked]),
        };
        if let Some(named) = named {
            if let Some(missing) = named.iter().find(|name| !own.holds(name)) {
                return Err(format!(
                    "a sub-agent cannot have the tool {missing:?} here; it can have {}",
                    own.names()
                ));
            }
            own = own.those(|tool| named.iter().any(|name| name == tool.name()));
        }
        if let Some(role) = role {
            // A tool is left out completely if some of its calls are denied: the other calls do not justify the risk.
            own = own.those(|tool| !role.denied_tools.iter().any(|denied| denied.name == tool.name()));
        }
        if own.is_empty() {
            return Err("that leaves the sub-agent without tools; name some that it can have".to_owned());
        }
        Ok(own)
    }

    /// The declarations of the tools for a model, without deferred and withheld ones. Always the same bytes.
    pub fn catalogue(&self) -> Vec<llm::Tool> {
        self.declared().map(declaration).collect()
    }

    /// The declarations of the named deferred tools, in this order.
    pub fn deferred<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<llm::Tool> {
        let find = |name| self.iter().find(|tool| tool.name() == name && tool.rules().is_deferred);
        names.into_iter().filter_map(find).map(|tool| declaration(tool.as_ref())).collect()
    }

    /// Parses a call of one of the tools.
    ///
    /// Fails with a text for the model that describes the error.
    pub fn understand(&self, call: &ToolCall) -> Result<Understood, String> {
        let bytes = call.arguments.len();
        if bytes > ARGUMENTS_BYTES {
            return Err(format!(
                "the arguments have {bytes} bytes, but a call can have at most {ARGUMENTS_BYTES}; do it in parts"
            ));
        }
        let Some(tool) = self.iter().find(|tool| tool.name() == call.name) else {
            return Err(format!("there is no tool {:?}; the tools are {}", call.name, self.names()));
        };
        let arguments = call.parse().map_err(|bad| bad.to_string())?;
        Ok(Understood { rules: tool.rules(), call: tool.understand(arguments)? })
    }

    /// The names of the tools that [`Toolbox::catalogue`] declares, in the same order.
    pub fn names(&self) -> String {
        self.declared().map(|tool| tool.name()).collect::<Vec<_>>().join(", ")
    }

    /// The names of the tools as they are stored: in alphabetical order.
    pub fn to_json(&self) -> String {
        let names: BTreeSet<&str> = self.iter().map(|tool| tool.name()).collect();
        serde_json::to_string(&names).expect("names are always JSON")
    }

    fn declared(&self) -> impl Iterator<Item = &dyn Tool> {
        let is_declared = |rules: Rules| !rules.is_deferred && rules.offered != Offered::ToNobody;
        self.iter().map(AsRef::as_ref).filter(move |tool| is_declared(tool.rules()))
    }

    fn those(&self, are_wanted: impl Fn(&dyn Tool) -> bool) -> Self {
        self.chosen(are_wanted, false)
    }

    fn chosen(&self, are_wanted: impl Fn(&dyn Tool) -> bool, is_chosen: bool) -> Self {
        let kept = Self(self.iter().filter(|tool| are_wanted(tool.as_ref())).cloned().collect());
        let names: HashSet<&str> = kept.iter().map(|tool| tool.name()).collect();
        let holds = |name: &str| names.contains(name);
        let changed: Vec<_> = kept.iter().map(|tool| tool.within(&holds, is_chosen)).collect();
        if changed.iter().all(Option::is_none) {
            return kept;
        }
        Self(
            kept.iter()
                .zip(changed)
                .map(|(tool, changed)| changed.unwrap_or_else(|| Arc::clone(tool)))
                .collect(),
        )
    }
}

/// A tool that is offered to nobody.
struct Withheld(Arc<dyn Tool>);

impl Tool for Withheld {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn description(&self) -> &str {
        self.0.description()
    }

    fn parameters(&self) -> Value {
        self.0.parameters()
    }

    fn rules(&self) -> Rules {
        Rules { offered: Offered::ToNobody, ..self.0.rules() }
    }

    fn understand(&self, arguments: Map<String, Value>) -> Result<Box<dyn Call>, String> {
        self.0.understand(arguments)
    }
}

/// A tool as it is declared to models.
fn declaration(tool: &dyn Tool) -> llm::Tool {
    llm::Tool {
        name: tool.name().to_owned(),
        description: tool.description().to_owned(),
        parameters: tool.parameters(),
    }
}

/// An answer in the form that the conversation stores: without arguments that no tool accepts, which would take up space permanently.
pub fn kept(mut answer: Assistant) -> Assistant {
    for call in answer.tool_calls.iter_mut().filter(|call| call.arguments.len() > ARGUMENTS_BYTES) {
        let left_out = format!("{} bytes, too long", call.arguments.len());
        call.arguments = serde_json::json!({"left_out": left_out}).to_string();
    }
    answer
}
