//! The rights in a group: the access that each action needs.

use store::Access;

use crate::error::{Error, Result};

/// An action in a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Reading the log, the people, the agents and the runs.
    Read,
    /// Giving or revoking a grant for one's own agent.
    Grant,
    /// Removing one's own agent.
    RemoveOwnAgent,
    /// Leaving the group.
    Leave,
    /// Posting to the log.
    Post,
    /// Asking an agent: one's own, or another person's with a grant.
    Ask,
    /// Adding or changing one's own agent.
    AddAgent,
    /// Beginning or stopping a run of a chain.
    RunChain,
    /// Answering a gate.
    AnswerGate,
    /// Removing another person's agent.
    RemoveAgent,
    /// Choosing the lead.
    SetLead,
    /// Adding, changing and removing chains.
    ChangeChains,
    /// Adding and removing people whose access is lower than an editor's.
    ManagePeople,
    /// Changing the group's title.
    Rename,
    /// Adding, changing and removing editors and owners.
    ManageEditors,
    /// Showing the log to people outside the group, on a messenger.
    Show,
    /// Deleting the group.
    Delete,
}

impl Action {
    /// The lowest access that the action needs.
    pub(crate) fn needs(self) -> Access {
        match self {
            Self::Read | Self::Grant | Self::RemoveOwnAgent | Self::Leave => Access::Reader,
            Self::Post | Self::Ask | Self::AddAgent | Self::RunChain | Self::AnswerGate => Access::Member,
            Self::RemoveAgent | Self::SetLead | Self::ChangeChains | Self::ManagePeople | Self::Rename => {
                Access::Editor
            }
            Self::ManageEditors | Self::Show | Self::Delete => Access::Owner,
        }
    }
}

/// Refuses an action that a person's access does not include.
///
/// # Errors
/// [`Error::Refused`], which names the access that the action needs.
pub(crate) fn check(access: Access, action: Action) -> Result<()> {
    let needs = action.needs();
    if access >= needs {
        return Ok(());
    }
    Err(Error::refused(
        "forbidden",
        format!(
            "you are a {} of this group, and this needs {} access or higher; ask an owner of the group",
            access.as_str(),
            needs.as_str()
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Action::*;

    #[test]
    fn each_access_includes_the_ones_below_it() {
        let table = [
            (Access::Reader, vec![Read, Grant, RemoveOwnAgent, Leave]),
            (Access::Member, vec![Post, Ask, AddAgent, RunChain, AnswerGate]),
            (Access::Editor, vec![RemoveAgent, SetLead, ChangeChains, ManagePeople, Rename]),
            (Access::Owner, vec![ManageEditors, Show, Delete]),
        ];
        let mut checked = 0;
        for (access, _) in &table {
            for (needs, actions) in &table {
                for action in actions {
                    assert_eq!(check(*access, *action).is_ok(), access >= needs, "{access:?} {action:?}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 4 * 17);
        let told = check(Access::Reader, Post).unwrap_err().message();
        assert!(
            told.starts_with("you are a reader of this group, and this needs member access or higher"),
            "{told}"
        );
    }
}
