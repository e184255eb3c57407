//! The rules of a tool: what holds for every call of it, so that the engine depends on no tool's name.

use crate::approval::Access;

/// The calls that a call may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Others that change nothing.
    Readers,
    /// Other sub-agents, which take care of themselves.
    SubAgents,
}

/// True if sub-agents get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForSubAgents {
    /// By default.
    Unasked,
    /// Only if it is named.
    Named,
    /// Never: it is for the agent that talks to the user.
    Never,
}

/// The rules of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Its access to the place it works in; a single call may need less.
    pub access: Access,
    /// The calls that may run at the same time.
    pub beside: Beside,
    /// True if sub-agents get it.
    pub for_sub_agents: ForSubAgents,
    /// True if it notices a cancel itself and tidies up; other tools are dropped.
    pub sees_cancel: bool,
    /// True if it waits for its user, so that other answers may go on meanwhile.
    pub waits_for_its_user: bool,
    /// True if it works on a machine: such a tool does not run where none can be reached.
    pub needs_machine: bool,
    /// True if it edits the conversation, which is loaded again after it.
    pub edits_conversation: bool,
    /// True if its arguments name something that already has a place: its caller can name no other place for it.
    pub has_own_place: bool,
    /// The clients that are offered it.
    pub offered: Offered,
    /// True if models are told of it only once it was found: see [`super::deferred`].
    pub is_deferred: bool,
    /// True if its results name deferred tools that it found.
    pub finds_tools: bool,
    /// True if all it does is one command, which is on record under the call's key before it is sent: such a call goes on after a
    /// restart of the server.
    pub takes_up: bool,
}

/// The clients that are offered a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Models, in turns of chats.
    ToModels,
    /// Programs of the user, over the Model Context Protocol.
    ToPrograms,
    /// Both; programs call it by this name, which may differ from the models' name.
    ToBoth(&'static str),
}

impl Rules {
    /// The rules of a tool with this access that works on a machine: read-only tools run at the same time as each other.
    pub const fn of(access: Access) -> Self {
        Self {
            access,
            beside: if matches!(access, Access::Read) { Beside::Readers } else { Beside::Nothing },
            for_sub_agents: ForSubAgents::Unasked,
            sees_cancel: false,
            waits_for_its_user: false,
            needs_machine: true,
            edits_conversation: false,
            has_own_place: false,
            offered: Offered::ToModels,
            is_deferred: false,
            finds_tools: false,
            takes_up: false,
        }
    }

    /// The same rules for a tool whose arguments name something that already has a place.
    pub const fn at_its_own_place(self) -> Self {
        Self { has_own_place: true, ..self }
    }

    /// The same rules, offered to programs only.
    pub const fn for_programs(self) -> Self {
        Self { offered: Offered::ToPrograms, ..self }
    }

    /// The same rules, also offered to programs, by this name.
    pub const fn for_programs_as(self, name: &'static str) -> Self {
        Self { offered: Offered::ToBoth(name), ..self }
    }

    /// The same rules with another `beside`.
    pub const fn beside(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// The same rules with another availability to sub-agents.
    pub const fn for_sub_agents(self, for_sub_agents: ForSubAgents) -> Self {
        Self { for_sub_agents, ..self }
    }

    /// The same rules for a tool that notices a cancel itself.
    pub const fn sees_cancel(self) -> Self {
        Self { sees_cancel: true, ..self }
    }

    /// The same rules for a tool that waits for its user.
    pub const fn waits_for_its_user(self) -> Self {
        Self { waits_for_its_user: true, ..self }
    }

    /// The same rules for a tool that needs no machine.
    pub const fn without_machine(self) -> Self {
        Self { needs_machine: false, ..self }
    }

    /// The same rules for a tool that models are told of only once it was found.
    pub const fn deferred(self) -> Self {
        Self { is_deferred: true, ..self }
    }

    /// The same rules for a tool that finds deferred ones.
    pub const fn finds_tools(self) -> Self {
        Self { finds_tools: true, ..self }
    }

    /// The same rules for a tool that goes on with a call after a restart of the server.
    pub const fn takes_up(self) -> Self {
        Self { takes_up: true, ..self }
    }

    /// The same rules for a tool that edits the conversation.
    pub const fn edits_conversation(self) -> Self {
        Self { edits_conversation: true, ..self }
    }
}
