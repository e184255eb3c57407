//! The permissions of a model: what it may do without asking.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How much a chat's model may do without asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The model only looks: files are not written, and commands run with a read-only workspace.
    Plan,
    /// The model asks before it changes a file or runs a command.
    Ask,
    /// The model asks before it runs a command.
    AutoEdit,
    /// The model asks only before it changes its user's settings or runs a command as the privileged user, and where a rule or hook requires a question.
    Full,
}

impl Mode {
    /// All modes, the most careful first.
    pub const ALL: [Self; 4] = [Self::Plan, Self::Ask, Self::AutoEdit, Self::Full];

    /// The mode's name in settings and documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::Full => "full",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// The error for a word that names no mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be plan, ask, auto-edit or full")]
pub struct UnknownMode;

impl FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(word: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == word).ok_or(UnknownMode)
    }
}

/// A tool's effect on the place it works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The tool changes nothing.
    Read,
    /// The tool changes files.
    Edit,
    /// The tool runs something that can do anything.
    Run,
    /// The tool ends running work.
    End,
    /// The tool makes a request to another machine, which can reveal what the model has read.
    Web,
    /// The tool makes a request to another machine, as for [`Access::Web`], and stores the response in a file.
    Download,
    /// The tool runs as the privileged user of its machine.
    Privileged,
    /// The tool changes the user's settings.
    Settings,
    /// The tool stores something for all later conversations.
    Remember,
    /// The tool uses a third-party program or service, whose effects are not known here.
    External,
}

impl Access {
    /// True if the user may allow such calls for good.
    pub fn may_be_remembered(self) -> bool {
        self.only_once().is_none()
    }

    /// The reason why the user cannot allow such calls for good, if there is one.
    pub fn only_once(self) -> Option<&'static str> {
        match self {
            Self::Privileged => Some("running as the machine's privileged user needs approval each time"),
            Self::Settings => Some("a setting reaches beyond this chat, so it needs approval each time"),
            Self::Remember => Some("memory reaches beyond this chat, so it needs approval each time"),
            Self::Read | Self::Edit | Self::Run | Self::End | Self::Web | Self::Download | Self::External => {
                None
            }
        }
    }

    /// True if the tool itself changes files, so that a command that was allowed for good may do something else now.
    pub fn changes_files(self) -> bool {
        matches!(self, Self::Edit | Self::Download)
    }

    /// True if a call cannot be judged without its machine.
    pub fn needs_ground(self) -> bool {
        matches!(self, Self::Edit | Self::Download | Self::Run | Self::Privileged)
    }
}

/// The decision about a tool call that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run.
    Allowed,
    /// The user is asked first.
    Asks,
    /// The call may not run.
    Denied,
}

/// A mode's verdict on an access.
pub fn verdict(mode: Mode, access: Access) -> Verdict {
    use Access::{Download, Edit, End, External, Privileged, Read, Remember, Run, Settings, Web};
    match (mode, access) {
        (_, Read) => Verdict::Allowed,
        // In plan mode, commands run with a profile that can change nothing.
        (Mode::Plan, Run) => Verdict::Allowed,
        (Mode::Plan, Edit | End | Download | Settings | Remember | External) => Verdict::Denied,
        // Calls with these kinds of access are asked about in every mode.
        (_, Privileged | Settings) => Verdict::Asks,
        (Mode::Full, _) | (Mode::AutoEdit, Edit) => Verdict::Allowed,
        (Mode::Plan, Web) => Verdict::Asks,
        (Mode::Ask, Edit | Run | End | Web | Download | Remember | External) => Verdict::Asks,
        (Mode::AutoEdit, Run | End | Web | Download | Remember | External) => Verdict::Asks,
    }
}

/// The ruling of the permission rules on a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Ruling {
    /// No rule matches the call: the mode decides.
    #[default]
    Silent,
    /// The call is not asked about, unless the mode denies it or it needs approval each time.
    Allow,
    /// The user is asked each time, in every mode, for this reason.
    Ask(String),
    /// The call is denied in every mode, for this reason.
    Deny(String),
}

/// A user's answer to a question for permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allows this call only.
    Allow,
    /// Allows this call now and whenever the same call is made again in the chat.
    AllowForGood,
    /// Denies this call.
    Deny,
    /// No one could be asked.
    NobodyThere,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_allows_more_than_the_one_before() {
        use Access::{Download, Edit, End, Privileged, Read, Remember, Run, Settings, Web};
        use Verdict::{Allowed, Asks, Denied};
        let said = |mode| [Read, Edit, Run, End, Web, Download].map(|access| verdict(mode, access));
        assert_eq!(said(Mode::Plan), [Allowed, Denied, Allowed, Denied, Asks, Denied]);
        assert_eq!(said(Mode::Ask), [Allowed, Asks, Asks, Asks, Asks, Asks]);
        assert_eq!(said(Mode::AutoEdit), [Allowed, Allowed, Asks, Asks, Asks, Asks]);
        assert_eq!(said(Mode::Full), [Allowed; 6]);
        let always = |access| Mode::ALL.map(|mode| verdict(mode, access));
        assert_eq!(always(Privileged), [Asks; 4], "whatever the mode");
        assert_eq!(always(Settings), [Denied, Asks, Asks, Asks]);
        assert_eq!(always(Remember), [Denied, Asks, Asks, Allowed]);
        assert_eq!(always(Access::External), [Denied, Asks, Asks, Allowed]);
        assert!(!Remember.may_be_remembered() && Web.may_be_remembered());
        for mode in Mode::ALL {
            assert_eq!(mode.as_str().parse(), Ok(mode));
        }
        assert_eq!("Full".parse::<Mode>(), Err(UnknownMode));
    }
}
