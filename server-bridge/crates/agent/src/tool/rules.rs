//! The rules of a tool: they apply to every call of it, so that the engine depends on no tool's name.

use crate::approval::Access;

/// The kinds of calls that may run at the same time as a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// No other call.
    Nothing,
    /// Other calls that change nothing.
    Readers,
    /// Calls of other sub-agents, which coordinate by themselves.
    SubAgents,
}

/// The conditions under which sub-agents get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForSubAgents {
    /// Sub-agents get the tool by default.
    Unasked,
    /// Sub-agents get the tool only if it is named.
    Named,
    /// Sub-agents never get the tool: it is for the agent that talks to the user.
    Never,
}

/// The rules that apply to every call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The tool's access to the place it works in; a single call may need less.
    pub access: Access,
    /// The calls that may run at the same time.
    pub beside: Beside,
    /// The conditions under which sub-agents get the tool.
    pub for_sub_agents: ForSubAgents,
    /// True if the tool notices a cancel itself and tidies up; the futures of other tools are dropped.
    pub sees_cancel: bool,
    /// True if the tool waits for its user, so that other answers may proceed meanwhile.
    pub waits_for_its_user: bool,
    /// True if the tool works on a machine: it does not run if no machine can be reached.
    pub needs_machine: bool,
    /// True if the tool edits the conversation, which is loaded again after each call.
    pub edits_conversation: bool,
    /// True if the tool's arguments name something that already has a place, so that its caller cannot name a different one.
    pub has_own_place: bool,
    /// The clients that are offered the tool.
    pub offered: Offered,
    /// True if the tool is declared to a model only after the model found it: see [`super::deferred`].
    pub is_deferred: bool,
    /// True if the tool's results name deferred tools that it found.
    pub finds_tools: bool,
    /// True if the tool only runs one command, which is on record under the call's key before it is sent: such a call continues after a
    /// restart of the server.
    pub takes_up: bool,
    /// True if the tool operates the terminal in which the turn's message was written, so that it is declared only in turns that have
    /// one.
    pub needs_terminal: bool,
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
    /// Nobody, in this turn: the tool is not declared, and a call of it gets the tool's own reason.
    ToNobody,
}

impl Rules {
    /// The rules of a tool with this access that works on a machine; tools that only read run at the same time as each other.
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
            needs_terminal: false,
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

    /// The same rules with a different `beside`.
    pub const fn beside(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// The same rules with a different availability to sub-agents.
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

    /// The same rules for a tool that is declared to a model only after the model found it.
    pub const fn deferred(self) -> Self {
        Self { is_deferred: true, ..self }
    }

    /// The same rules for a tool that finds deferred tools.
    pub const fn finds_tools(self) -> Self {
        Self { finds_tools: true, ..self }
    }

    /// The same rules for a tool that continues a call after a restart of the server.
    pub const fn takes_up(self) -> Self {
        Self { takes_up: true, ..self }
    }

    /// The same rules for a tool that operates the terminal in which the turn's message was written.
    pub const fn needs_terminal(self) -> Self {
        Self { needs_terminal: true, ..self }
    }

    /// The same rules for a tool that edits the conversation.
    pub const fn edits_conversation(self) -> Self {
        Self { edits_conversation: true, ..self }
    }
}
