//! Sandboxes: the places where a user's commands run and files are, on any machine.
//!
//! Every sandbox is a runner at the other end of a link; the backends differ only in how the link is made.
//! [`SandboxRouter`] applies the routing rules and hands out a [`Sandbox`] bound to one user; it never hands out a
//! machine other than the one that the rules name. Nothing here depends on HTTP or SQL: the web layer passes in an
//! upgraded socket as a [`Link`] and a callback that checks tokens, and gets handles. Runners are untrusted, including
//! the server's own.
//!
//! | module | holds |
//! |---|---|
//! | `router` | the [`SandboxRouter`] |
//! | [`config`] | its configuration |
//! | `backends` | making links to runners: on machines that dial in, in containers, on the server itself |
//! | `on_demand`, `registry` | the links that the server made, and those of runners that dialled in |
//! | `handle`, `exec`, `files`, `search`, `trees`, `llm`, `http` | the work in a sandbox; four of these share `upload` |
//! | `update` | a runner that replaces its own program |
//! | `path_text` | paths that people can read |
//! | `xbot` | one runner's task if it speaks xbot's dialect; `budget` limits the memory of its messages |
//! | `driver` | one runner's task: streams that outlive links, session, credit, batching |
//! | `handshake` | the registration of a runner, in either dialect |
//! | [`link`] | a link: a pair of message streams to one runner |
//! | [`routing`] | the routing rules: a pure function from a request to a place |
//! | [`requirement`] | the layers of confinement that a runner must have to be used |
//! | [`error`], [`facts`] | the errors, and a runner's description of itself |
//! | `runner_file` | the runner that is mounted into containers and handed out to machines; its `digest` |
//! | `subnets` | the addresses of users' networks of containers |
//! | `limits` | every limit and timeout that is not the protocol's own |
//!
//! A module depends on none that is listed above it. Requests go from the handle through the driver to the link; events
//! return through each stream's mailbox.
//!
//! A new backend makes a [`Link`] to a runner in `backends/`, gets a [`Target`] in `routing` and a line in `router`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backends;
mod budget;
pub mod config;
mod digest;
mod driver;
pub mod error;
mod exec;
mod expected;
pub mod facts;
mod files;
mod handle;
mod handshake;
mod http;
mod limits;
pub mod link;
mod llm;
mod on_demand;
mod path_text;
mod registry;
pub mod requirement;
mod router;
pub mod routing;
mod runner_file;
mod search;
mod subnets;
#[cfg(test)]
mod testing;
mod trees;
mod update;
mod upload;
mod xbot;

pub use backends::docker::own::{ContainerArchive, ContainerStatus, UserContainer};
pub use budget::{MessageAccount, MessageBudget};
pub use config::{ContainerNetwork, DockerConfig, LocalConfig, RouterConfig};
pub use driver::AckMode;
pub use error::{ContainerError, LinkError, RouteError, SandboxError};
pub use exec::{Approval, AttachOptions, Collected, Exec, ExecControl, ExecEvent, ExecOutcome, ExecRequest};
pub use facts::{Layer, RunnerFacts};
pub use files::{DirReader, FileReader, FileWriter, Range, WriteOptions};
pub use handle::{DownloadRequest, Sandbox};
pub use handshake::{Admission, Dialect, Refusal, RefusalReason, Registration, is_acceptance, token_of};
pub use http::{HttpAnswer, HttpRequest};
pub use limits::{CONTAINER_ARCHIVE_BYTES, XBOT_MESSAGE_BYTES};
pub use link::memory::{MemoryLink, memory_link};
pub use link::{Link, LinkMessage};
pub use llm::{LlmAnswer, LlmRequest, LlmStream};
pub use path_text::control_character;
pub use proto::handshake::{ENROLMENT_CAPABILITY, RunAsNames};
pub use proto::message::{
    DirEntry, ExecEntry, ExecReport, ExitStatus, FileKind, GlobDone, GlobEntry, GrepDone, GrepFile, GrepLine,
    Metadata, Resolved, TreeRead, TreeWritten, Truncation,
};
pub use proto::request::{
    Command, HashedEntry, HashedKind, Overflow, Present, Profile, Pty, WORKTREE_BRANCHES, WORKTREE_NAME_RULE,
    WORKTREES, WorktreeAction, is_worktree_name, tree_bytes,
};
pub use proto::{ErrorKind, ExecId};
pub use registry::{Disconnect, RunnerEvent, RunnerState};
pub use requirement::Requirement;
pub use router::SandboxRouter;
pub use routing::{Choice, DOCKER, LocalPolicy, NONE, RouteRequest, Target, User};
pub use runner_file::{KnownRunner, RunnerFile};
pub use search::{GlobQuery, GlobReader, GrepQuery, GrepReader, SearchReader};
pub use subnets::{SubnetPool, SubnetPoolError};
pub use trees::{TreeReader, TreeWriter};
