//! Sandboxes: where a user's commands run and files live, whichever machine that is.
//!
//! Every sandbox is a runner behind a link; the backends differ only in how the link is made. [`SandboxRouter`] applies
//! the routing rules and hands out a [`Sandbox`] bound to one user; it never hands out another machine than the one the
//! rules name. Nothing here knows HTTP or SQL: the web layer brings an upgraded socket as a [`Link`] and an answer to
//! "whose token is this?", and gets handles. Runners are untrusted, our own included.
//!
//! | module | what is in it |
//! |---|---|
//! | [`requirement`] | what a runner must hold to be used |
//! | [`routing`] | who wants what, and the pure function from a wish to a place |
//! | `router` | the [`SandboxRouter`] |
//! | `handle`, `exec`, `files`, `search`, `trees`, `llm` | what is done in a sandbox; `upload` is what three of them share |
//! | `update` | a runner that replaces its own program |
//! | `path_text` | paths that people can read |
//! | `driver` | one runner's task: streams that outlive links, session, credit, batching |
//! | `handshake`, `registry` | how a runner becomes connected, and which ones are |
//! | `on_demand` | links that the server makes itself, on first use |
//! | [`links`] | the links: memory, stdio envelopes, remote, xbot's dialect, local child, Docker container |
//! | `runner_file` | the runner that goes into containers and to machines |
//! | `subnets` | where the addresses of users' networks of containers are from |
//! | `budget` | the memory that messages of xbot's dialect may take |
//! | [`error`], [`facts`], [`config`] | what goes wrong, what is known of a runner, how it is set up |
//!
//! A new backend makes a [`Link`] to a runner in `links/`, gets a [`Target`] in `routing` and a line in `router`.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod budget;
pub mod config;
mod driver;
pub mod error;
mod exec;
pub mod facts;
mod files;
mod handle;
mod handshake;
mod limits;
pub mod links;
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

pub use budget::{MessageAccount, MessageBudget};
pub use config::{ContainerNetwork, DockerConfig, LocalConfig, RouterConfig};
pub use error::{ContainerError, LinkError, RouteError, SandboxError};
pub use exec::{
    AckMode, Approval, AttachOptions, Collected, Exec, ExecControl, ExecEvent, ExecOutcome, ExecRequest,
};
pub use facts::{Admission, Layer, Refusal, RefusalReason, Registration, RunnerFacts};
pub use files::{DirReader, FileReader, FileWriter, Range, WriteOptions};
pub use handle::{DownloadRequest, Sandbox};
pub use limits::{CONTAINER_ARCHIVE_BYTES, XBOT_MESSAGE_BYTES};
pub use links::docker::own::{ContainerArchive, ContainerStatus, UserContainer};
pub use links::memory::{MemoryLink, memory_link};
pub use links::xbot::register::Dialect;
pub use links::{Link, LinkMessage};
pub use llm::{LlmAnswer, LlmRequest, LlmStream};
pub use path_text::control_character;
pub use proto::handshake::{ENROLMENT_CAPABILITY, RunAsNames};
pub use proto::message::{
    DirEntry, ExecEntry, ExecReport, ExitStatus, FileKind, GlobDone, GlobEntry, GrepDone, GrepFile, GrepLine,
    Metadata, Resolved, TreeRead, TreeWritten, Truncation,
};
pub use proto::request::{Command, Overflow, Present, Profile, Pty};
pub use proto::{ErrorKind, ExecId};
pub use registry::{Disconnect, RunnerEvent, RunnerState};
pub use requirement::Requirement;
pub use router::SandboxRouter;
pub use routing::{Choice, DOCKER, LocalPolicy, NONE, Target, User, Wish};
pub use runner_file::{KnownRunner, RunnerFile};
pub use search::{GlobQuery, GlobReader, GrepQuery, GrepReader, SearchReader};
pub use subnets::{SubnetPool, SubnetPoolError};
pub use trees::{TreeReader, TreeWriter};
