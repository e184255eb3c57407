//! The rules of a tool: what holds for every call of it, so that the engine needs to know no tool by its name.

use crate::approval::Access;

/// What a call may run beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// Nothing.
    Nothing,
    /// Others that change nothing.
    Readers,
    /// Other sub-agents, which see to themselves.
    SubAgents,
}

/// Whether sub-agents get a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForSubAgents {
    /// As long as nobody says otherwise.
    Unasked,
    /// Where it is named.
    Named,
    /// Never: it is for the agent that talks to the user.
    Never,
}

/// The rules of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// What it does to the place it works in; a single call may do less.
    pub access: Access,
    /// What its calls may run beside.
    pub beside: Beside,
    /// Whether sub-agents get it.
    pub for_sub_agents: ForSubAgents,
    /// Whether it sees a cancel by itself and tidies up; others are dropped.
    pub sees_cancel: bool,
    /// Whether it waits for its user, so that other answers may go on meanwhile.
    pub waits_for_its_user: bool,
    /// Whether it works on a machine: such a tool does not run where none can be reached.
    pub needs_machine: bool,
    /// Whether it edits the conversation, which is loaded again after it.
    pub edits_conversation: bool,
    /// Whether its arguments name something that has a place of its own: its caller can name no other place for it.
    pub has_own_place: bool,
    /// Who is offered it.
    pub offered: Offered,
}

/// Who is offered a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// Models, in turns of chats.
    ToModels,
    /// Programs of the user's own, by the protocol that they speak.
    ToPrograms,
    /// Both; programs know it by this name, which may be another one than models do.
    ToBoth(&'static str),
}

impl Rules {
    /// The rules of a tool of this access that works on a machine: one that only reads runs beside others that do.
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
        }
    }

    /// The same for one whose arguments name something that has a place of its own.
    pub const fn at_its_own_place(self) -> Self {
        Self { has_own_place: true, ..self }
    }

    /// The same for one that programs are offered, and no model is.
    pub const fn for_programs(self) -> Self {
        Self { offered: Offered::ToPrograms, ..self }
    }

    /// The same for one that programs are offered as well, by this name.
    pub const fn for_programs_as(self, name: &'static str) -> Self {
        Self { offered: Offered::ToBoth(name), ..self }
    }

    /// The same beside something else.
    pub const fn beside(self, beside: Beside) -> Self {
        Self { beside, ..self }
    }

    /// The same for other sub-agents.
    pub const fn for_sub_agents(self, for_sub_agents: ForSubAgents) -> Self {
        Self { for_sub_agents, ..self }
    }

    /// The same for one that sees a cancel by itself.
    pub const fn sees_cancel(self) -> Self {
        Self { sees_cancel: true, ..self }
    }

    /// The same for one that waits for its user.
    pub const fn waits_for_its_user(self) -> Self {
        Self { waits_for_its_user: true, ..self }
    }

    /// The same for one that works on no machine.
    pub const fn without_machine(self) -> Self {
        Self { needs_machine: false, ..self }
    }

    /// The same for one that edits the conversation.
    pub const fn edits_conversation(self) -> Self {
        Self { edits_conversation: true, ..self }
    }
}
