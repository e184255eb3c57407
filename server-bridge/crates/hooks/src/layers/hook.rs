//! A loaded hook: its origin, its rights, and the hash of what it runs.

use std::fmt;
use std::fmt::Write as _;

use serde_json::json;
use sha2::{Digest, Sha256};

use crate::dialect::{self, Dialect};
use crate::event::Event;
use crate::handler::{Handler, OnFailure};
use crate::matcher::Matcher;
use crate::strict::canonical;

/// The version of the hash: incrementing it invalidates all approvals.
const VERSION: u32 = 3;

/// The origin of hooks. The first has the most power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// Defined by the administrator.
    Managed,
    /// Defined by the user, including the plugins that the user installed.
    User,
    /// Defined by the workspace, and shared through its repository.
    Workspace,
    /// Defined by the workspace, and not shared.
    WorkspaceLocal,
}

impl Layer {
    /// All layers, the most powerful first.
    pub const ALL: [Self; 4] = [Self::Managed, Self::User, Self::Workspace, Self::WorkspaceLocal];

    /// True if its hooks may allow a call and rewrite it. A workspace's hooks may only deny, ask and add context.
    pub fn may_loosen(self) -> bool {
        matches!(self, Self::Managed | Self::User)
    }

    /// True if its hooks run only after the user has approved what they run.
    pub fn needs_approval(self) -> bool {
        !self.may_loosen()
    }

    /// The consequence of a failure if the handler names none.
    pub fn on_failure(self) -> OnFailure {
        match self {
            Self::Managed => OnFailure::Deny,
            Self::User | Self::Workspace | Self::WorkspaceLocal => OnFailure::Allow,
        }
    }

    /// The position in the order in which hooks run. The administrator's hooks are last: they judge the final call,
    /// after all changes by others, and no other hook can change it afterwards.
    pub(crate) fn turn(self) -> u8 {
        match self {
            Self::User => 0,
            Self::Workspace => 1,
            Self::WorkspaceLocal => 2,
            Self::Managed => 3,
        }
    }

    /// The layer's name in lists.
    pub fn word(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Workspace => "workspace",
            Self::WorkspaceLocal => "workspace-local",
        }
    }
}

/// The SHA-256 of what a hook runs and when, in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash(String);

impl Hash {
    /// The hash as hexadecimal digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The files that a hook's command runs or reads, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The files that its approval covers: each path with the SHA-256 of its content.
    pub covered: Vec<(String, String)>,
    /// Descriptions of what may run and is not covered.
    pub unseen: Vec<String>,
}

/// A hook: a handler with its event, its matcher and its origin.
#[derive(Clone, Debug)]
pub struct Hook {
    /// A short id that stays the same as long as the hook does: `PreToolUse-0123456789ab`.
    pub id: String,
    /// The hash of what it runs.
    pub hash: Hash,
    /// The event at which it runs.
    pub event: Event,
    /// The dialect in which the event's name is written.
    pub spelling: Dialect,
    /// The dialect of the file.
    pub dialect: Dialect,
    /// The matcher of its group.
    pub matcher: Matcher,
    /// The action, and the rules under which it runs.
    pub handler: Handler,
    /// The layer that it belongs to.
    pub layer: Layer,
    /// The file or plugin that defines it, for people.
    pub origin: String,
    /// The place in that file.
    pub place: String,
    /// The directory of the plugin that it belongs to.
    pub plugin_root: Option<String>,
    /// The location of the workspace that defines it, for a workspace's hook.
    pub workspace: Option<String>,
    /// The files of the workspace that its approval covers.
    pub files: Files,
}

/// The name and the dialect of the arguments with which a hook refers to a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The name that it gets.
    pub name: String,
    /// The dialect of the arguments that it gets.
    pub dialect: Dialect,
}

impl Hook {
    /// The consequence of a failure of this hook.
    pub fn on_failure(&self) -> OnFailure {
        self.handler.on_failure.unwrap_or_else(|| self.layer.on_failure())
    }

    /// The event's name in its payloads.
    pub fn event_name(&self) -> &'static str {
        self.event.name(self.spelling)
    }

    /// The name and dialect in which it refers to a tool; `None` if it does not refer to the tool.
    ///
    /// In a peer's file, everything is in the peer's dialect. In our files the matcher decides: a hook for `Bash` gets `Bash` with
    /// a peer's arguments, and a hook for `Shell` gets ours.
    pub fn asks_for(&self, tool: &str) -> Option<Asked> {
        let mut names = dialect::names(tool);
        if self.dialect == Dialect::Peer {
            // Of several names of peers, the main one stays first.
            names.sort_by_key(|name| name.dialect == Dialect::Own);
        }
        let found = names.into_iter().find(|name| self.matcher.fits(&name.text))?;
        let dialect = if self.dialect == Dialect::Peer { Dialect::Peer } else { found.dialect };
        let name =
            if self.matcher.is_exact() { found.text } else { dialect::main_name(tool, dialect).to_owned() };
        Some(Asked { name, dialect })
    }

    /// Computes the hash, and the id from it.
    pub(super) fn seal(&mut self) {
        let what = json!({
            "version": VERSION,
            "dialect": self.dialect.word(),
            "event": self.event_name(),
            "matcher": self.matcher.pattern(),
            "handler": self.handler.canonical(),
            "plugin": self.plugin_root,
            "workspace": self.workspace,
            "files": self.files.covered,
        });
        let digest = Sha256::digest(canonical(&what).as_bytes());
        let hash = digest.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        self.id = format!("{}-{}", self.event.name(Dialect::Own), &hash[..12]);
        self.hash = Hash(hash);
    }

    pub(super) fn unsealed() -> Hash {
        Hash(String::new())
    }
}
