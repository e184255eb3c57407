//! Texts with a fixed set of values, as enums that preserve an unknown value.

/// Declares such an enum: its words are texts in JSON, and an `enum` in the OpenAPI description.
///
/// A word that is not listed is read as `Unknown`, which keeps the word and is written unchanged: a reader can pass a document of a newer
/// server on without changing it.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
            /// A word that this version does not know, unchanged.
            Unknown(String),
        }

        impl $name {
            /// Every known word.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Every known word, as a value of the enum.
            pub fn known() -> impl Iterator<Item = Self> {
                Self::WORDS.iter().map(|word| Self::from(*word))
            }

            /// The word as in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Unknown(word) => word,
                }
            }
        }

        impl Default for $name {
            /// The word for a document that lacks one.
            fn default() -> Self {
                Self::Unknown(String::new())
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, word: &str) -> bool {
                self.as_str() == word
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, word: &&str) -> bool {
                self.as_str() == *word
            }
        }

        impl From<&str> for $name {
            fn from(word: &str) -> Self {
                match word {
                    $($word => Self::$variant,)+
                    other => Self::Unknown(other.to_owned()),
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match Self::from(word.as_str()) {
                    Self::Unknown(_) => Self::Unknown(word),
                    known => known,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.pad(self.as_str())
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer).map(Self::from)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let words = utoipa::openapi::schema::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some([$($doc),+].map(str::trim).join("\n")))
                    .enum_values(Some(Self::WORDS.iter().copied()));
                utoipa::openapi::schema::Schema::Object(words.build()).into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

mod automation;
mod chain;
mod channel;
mod extension;
mod group;
mod memory;
mod tui;

pub use automation::{
    AutomationChats, AutomationKind, AutomationState, MissedSlots, OverlappingRuns, RunOutcome, TriggerSource,
};
pub use chain::{ChainState, GateKind, GateReply, HandOverState, StepState};
pub use channel::{ChannelLoginState, ChannelState};
pub use extension::{
    CollectionSync, DocumentState, ExtensionLayer, HookDecision, HookState, HttpToolState, McpServerState,
    McpToolState, McpTransport, TrustKind, TrustState,
};
pub use group::{CallState, EntryAuthor, GrantMode, GroupAccess};
pub use memory::{MemoryKind, MemoryMode, MemoryScope, MemorySource};
pub use tui::{TuiState, TuiView};

words! {
    /// The state of a node.
    NodeState {
        /// The node works for its users, and accepts more.
        Up = "up",
        /// The node finishes what it has begun, and accepts no more users.
        Draining = "draining",
        /// The node did not renew its lease in time: any other node may take its users.
        Late = "late",
        /// The node stopped, or another node took over.
        Gone = "gone",
    }
}

words! {
    /// The state of an exec.
    ExecStatus {
        /// The command was sent, and its end is not known yet.
        Running = "running",
        /// The command ended by itself, with a code.
        Exited = "exited",
        /// A signal ended it.
        Signaled = "signaled",
        /// The command was ended at its time limit.
        TimedOut = "timed_out",
        /// The command was cancelled.
        Cancelled = "cancelled",
        /// The command could not be run.
        Failed = "failed",
        /// The command's end cannot be determined.
        Lost = "lost",
    }
}

words! {
    /// The state of a model's turn.
    TurnStatus {
        /// The turn waits to begin.
        Queued = "queued",
        /// The model is answering.
        Running = "running",
        /// The turn ended well.
        Done = "done",
        /// The turn did not end well.
        Failed = "failed",
        /// The turn's user stopped it.
        Cancelled = "cancelled",
        /// The server ended during the turn.
        Interrupted = "interrupted",
    }
}

words! {
    /// The state of a model's tool call.
    ToolStatus {
        /// The call waits for its user's answer.
        Asking = "asking",
        /// The call runs.
        Running = "running",
        /// The call ended well.
        Done = "done",
        /// The call did not end well.
        Failed = "failed",
        /// The call was not allowed.
        Denied = "denied",
        /// The call's user stopped it.
        Cancelled = "cancelled",
    }
}

words! {
    /// The state of an item of a model's to-do list.
    TodoStatus {
        /// The item is to be done.
        Pending = "pending",
        /// The item is being done.
        InProgress = "in_progress",
        /// The item is done.
        Completed = "completed",
    }
}

words! {
    /// The author of a message.
    Role {
        /// The chat's user.
        User = "user",
        /// A command.
        Exec = "exec",
        /// The server itself.
        Notice = "notice",
        /// A model.
        Assistant = "assistant",
    }
}

words! {
    /// The part of a message that a piece of text belongs to.
    Channel {
        /// A command's standard output.
        Stdout = "stdout",
        /// A command's standard error.
        Stderr = "stderr",
        /// A model's answer.
        Text = "text",
        /// A model's reasoning.
        Reasoning = "reasoning",
    }
}

words! {
    /// How much a notice matters.
    Level {
        /// Information.
        Info = "info",
        /// A warning.
        Warning = "warning",
    }
}

words! {
    /// The kind of an entry of a directory.
    FileKind {
        /// A regular file.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A symbolic link.
        Symlink = "symlink",
        /// Anything else, such as a device or a socket.
        Other = "other",
    }
}

words! {
    /// How much a model may do without asking.
    Approval {
        /// The model only reads.
        Plan = "plan",
        /// The model asks before it changes something.
        Ask = "ask",
        /// The model changes files of its workspace, and asks before everything else.
        AutoEdit = "auto-edit",
        /// The model asks only before it changes its user's settings or runs a command as the privileged user, or where a rule
        /// or hook says to ask.
        Full = "full",
    }
}

words! {
    /// The layers that automatically change what a model sees of its conversation.
    ContextMode {
        /// All of them.
        Full = "full",
        /// All but summaries.
        NoCompression = "no-compression",
        /// None of them.
        None = "none",
    }
}

words! {
    /// The state of a container.
    ContainerState {
        /// There is none.
        None = "none",
        /// The container is stopped.
        Stopped = "stopped",
        /// The container runs.
        Running = "running",
        /// The container is paused.
        Paused = "paused",
    }
}

words! {
    /// The mapping of a container's users to users of its machine.
    UserNamespace {
        /// The container's root is an unprivileged user outside the container.
        Mapped = "mapped",
        /// The engine could map users, but was configured not to.
        Host = "host",
        /// The engine maps no users.
        None = "none",
    }
}

words! {
    /// The workspace of a container.
    WorkspaceKind {
        /// A volume of the engine.
        Volume = "volume",
        /// A directory of the machine.
        Directory = "directory",
    }
}

words! {
    /// A limit of a container.
    ContainerLimit {
        /// Memory.
        Memory = "memory",
        /// Processes and threads.
        Pids = "pids",
        /// Processors.
        Cpus = "cpus",
    }
}

words! {
    /// The API of a subscription's provider.
    Provider {
        /// OpenAI's API, which many other providers support.
        Openai = "openai",
        /// Anthropic's API.
        Anthropic = "anthropic",
    }
}

words! {
    /// A tier of a subscription's models.
    Tier {
        /// The most capable.
        Vanguard = "vanguard",
        /// In between.
        Balance = "balance",
        /// The fastest.
        Swift = "swift",
    }
}

words! {
    /// What a key may do.
    Scope {
        /// Everything that its owner may do, except making keys and changing passwords.
        Full = "full",
        /// Commands, files and tasks on its owner's runners.
        Exec = "exec",
        /// Reading only.
        Read = "read",
    }
}

words! {
    /// The kind of a place.
    ChoiceKind {
        /// A registered machine.
        Runner = "runner",
        /// A container of the caller's own on the server.
        Docker = "docker",
        /// The server itself.
        None = "none",
    }
}

words! {
    /// The machines that can reach this server at the address in a runner's install line.
    Reach {
        /// Other machines too, as far as the server knows.
        Network = "network",
        /// This machine only, since the page was opened at a loopback address; the server listens on other addresses too.
        LoopbackAddress = "loopback_address",
        /// This machine only: the server listens only on loopback.
        LoopbackOnly = "loopback_only",
    }
}

words! {
    /// The database that stores the server's data.
    Storage {
        /// A file in the server's home directory.
        Sqlite = "sqlite",
        /// A PostgreSQL server.
        Postgres = "postgres",
    }
}

words! {
    /// The effect of a permission rule on the calls that match it.
    RuleEffect {
        /// The calls are denied.
        Deny = "deny",
        /// The calls' user is asked.
        Ask = "ask",
        /// The calls are allowed.
        Allow = "allow",
    }
}

words! {
    /// The origin of a permission rule.
    RuleOrigin {
        /// The server's administrator.
        Managed = "managed",
        /// The server itself: commands that are hard to undo.
        BuiltIn = "built_in",
        /// The user.
        User = "user",
        /// The user, for one chat.
        Chat = "chat",
        /// A file of the workspace, which only denies and asks.
        Workspace = "workspace",
    }
}

words! {
    /// The verdict of the permission rules on a call.
    RuleVerdict {
        /// The call is denied.
        Deny = "deny",
        /// The call's user is asked.
        Ask = "ask",
        /// The call is allowed.
        Allow = "allow",
        /// No rule matches it: the chat's approval mode decides.
        Mode = "mode",
    }
}

words! {
    /// The state of a document in an agent's workspace.
    WorkspaceFileState {
        /// The document exists.
        Present = "present",
        /// No file has its name.
        Missing = "missing",
        /// Something else has its name, such as a directory or a link that leads out of the workspace.
        Blocked = "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_written_as_it_was_read() {
        for word in ExecStatus::WORDS.iter().copied().chain(["paused"]) {
            let status: ExecStatus = serde_json::from_value(word.into()).unwrap();
            assert_eq!(serde_json::to_value(&status).unwrap(), word);
            assert_eq!((status.as_str(), status.to_string().as_str()), (word, word));
        }
        assert_eq!(ExecStatus::from("paused"), ExecStatus::Unknown("paused".to_owned()));
        assert_eq!(ExecStatus::from("timed_out".to_owned()), ExecStatus::TimedOut);
    }
}
