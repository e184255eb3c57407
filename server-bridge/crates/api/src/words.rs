//! Texts that are one of some words, as enums that keep a word they do not know.

/// Declares such an enum: its words stand in JSON as texts, and in the OpenAPI description as an `enum`.
///
/// A word that is not listed is read as `Unknown`, which holds it and is written as it came: a reader passes a newer
/// server's document on without changing it.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $word_doc:literal])+ $variant:ident = $word:literal,)+ }) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[doc = $word_doc])+ $variant,)+
            /// A word that this version does not know, as it came.
            Unknown(String),
        }

        impl $name {
            /// Every known word.
            pub const WORDS: &'static [&'static str] = &[$($word),+];

            /// Every known word, as itself.
            pub fn known() -> impl Iterator<Item = Self> {
                Self::WORDS.iter().map(|word| Self::from(*word))
            }

            /// The word as it stands in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $word,)+
                    Self::Unknown(word) => word,
                }
            }
        }

        impl Default for $name {
            /// The word of a document that has none.
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

mod extension;

pub use extension::{
    CollectionSync, DocumentState, ExtensionLayer, HookState, HttpToolState, McpServerState, McpToolState,
    McpTransport, TrustKind, TrustState,
};

words! {
    /// The state of an exec.
    ExecStatus {
        /// It was sent, and nothing is known of its end.
        Running = "running",
        /// It ended by itself, with a code.
        Exited = "exited",
        /// A signal ended it.
        Signaled = "signaled",
        /// It was ended because its time was up.
        TimedOut = "timed_out",
        /// It was ended because somebody asked.
        Cancelled = "cancelled",
        /// It could not be run.
        Failed = "failed",
        /// How it ended cannot be known.
        Lost = "lost",
    }
}

words! {
    /// How a model's turn stands.
    TurnStatus {
        /// It waits for its turn.
        Queued = "queued",
        /// The model answers.
        Running = "running",
        /// It ended well.
        Done = "done",
        /// It did not end well.
        Failed = "failed",
        /// Its user stopped it.
        Cancelled = "cancelled",
        /// The server ended in between.
        Interrupted = "interrupted",
    }
}

words! {
    /// How a model's call of a tool stands.
    ToolStatus {
        /// It asks its user.
        Asking = "asking",
        /// It runs.
        Running = "running",
        /// It ended well.
        Done = "done",
        /// It did not end well.
        Failed = "failed",
        /// It was not allowed.
        Denied = "denied",
        /// Its user stopped it.
        Cancelled = "cancelled",
    }
}

words! {
    /// How something that a model wants to do stands.
    TodoStatus {
        /// It is to be done.
        Pending = "pending",
        /// It is being done.
        InProgress = "in_progress",
        /// It is done.
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
        /// A model's thoughts.
        Reasoning = "reasoning",
    }
}

words! {
    /// How much a notice matters.
    Level {
        /// It is good to know.
        Info = "info",
        /// Something may be wrong.
        Warning = "warning",
    }
}

words! {
    /// The kind of an entry of a directory.
    FileKind {
        /// A file.
        File = "file",
        /// A directory.
        Directory = "directory",
        /// A symbolic link.
        Symlink = "symlink",
        /// Anything else.
        Other = "other",
    }
}

words! {
    /// How much a model may do without asking.
    Approval {
        /// It reads only.
        Plan = "plan",
        /// It asks before it changes something.
        Ask = "ask",
        /// It changes files of its workspace, and asks for all else.
        AutoEdit = "auto-edit",
        /// It asks only before it changes its user's settings or runs a command as the privileged user.
        Full = "full",
    }
}

words! {
    /// The layers that change by themselves what a model is shown of its conversation.
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
    /// How a container stands.
    ContainerState {
        /// There is none.
        None = "none",
        /// It is stopped.
        Stopped = "stopped",
        /// It runs.
        Running = "running",
        /// It is paused.
        Paused = "paused",
    }
}

words! {
    /// The users of a container, as its machine sees them.
    UserNamespace {
        /// Its root is nobody outside.
        Mapped = "mapped",
        /// The engine would map users and was told not to.
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
    /// The dialect that a subscription's provider speaks.
    Provider {
        /// The one of OpenAI, and of all that do as it does.
        Openai = "openai",
        /// The one of Anthropic.
        Anthropic = "anthropic",
    }
}

words! {
    /// A tier of a subscription's models.
    Tier {
        /// The most able.
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
        /// Whatever its owner may, but for making keys and changing passwords.
        Full = "full",
        /// Commands, files and tasks on its owner's runners.
        Exec = "exec",
        /// Reading only.
        Read = "read",
    }
}

words! {
    /// What kind of place it is.
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
    /// From where the address in a runner's line leads to this server.
    Reach {
        /// From other machines too, as far as the server knows.
        Network = "network",
        /// From this machine alone, since the page was opened by a loopback address; the server listens on others too.
        LoopbackAddress = "loopback_address",
        /// From this machine alone: the server listens on loopback only.
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
        /// They are denied.
        Deny = "deny",
        /// Their user is asked.
        Ask = "ask",
        /// They are allowed.
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
    }
}

words! {
    /// The word of the permission rules on a call.
    RuleVerdict {
        /// It is denied.
        Deny = "deny",
        /// Its user is asked.
        Ask = "ask",
        /// It is allowed.
        Allow = "allow",
        /// No rule matches it: the chat's approval mode decides.
        Mode = "mode",
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
