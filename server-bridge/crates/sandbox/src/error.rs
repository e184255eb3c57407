//! Errors, grouped by origin: the sandbox's work, the choice of a place, the link.

use std::io;

use proto::handshake::RefusalReason;
use proto::session::Close;
use proto::{ErrorKind, WireError};

use crate::facts::harmless;
use crate::limits::ERROR_TEXT_BYTES;

/// The reason why an operation on a [`crate::Sandbox`] failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The runner is not connected; nothing was sent.
    #[error("runner {runner} is offline; start it, or choose another one with `sandbridge use`")]
    Offline {
        /// The runner's name.
        runner: String,
    },
    /// The connection ended after the request was sent and was not restored in time, or the runner was restarted; the
    /// outcome is unknown.
    #[error("the connection to runner {runner} was lost; what the request did there is unknown")]
    Lost {
        /// The runner's name.
        runner: String,
    },
    /// The connection ended while a file was being sent; the old content, if there was any, is unchanged.
    #[error(
        "the connection to runner {runner} was lost before the file was complete; nothing was written: send it again"
    )]
    NotWritten {
        /// The runner's name.
        runner: String,
    },
    /// The connection ended while a file was being read, and the file has been replaced since.
    #[error(
        "the connection to runner {runner} was lost, and the file changed in the meantime; read it again"
    )]
    FileChanged {
        /// The runner's name.
        runner: String,
    },
    /// The connection ended after a change was sent and before its answer arrived.
    #[error("the connection to runner {runner} was lost; it is not known whether {what} took effect")]
    Ambiguous {
        /// The runner's name.
        runner: String,
        /// The requested change, as a noun phrase.
        what: &'static str,
    },
    /// The runner, or a limit of its link, refused the request.
    #[error("{message}")]
    Remote {
        /// The kind of error, for programs.
        kind: ErrorKind,
        /// The error's text, for people.
        message: String,
    },
    /// The command names the runner's privileged user without permission; nothing was sent.
    #[error(
        "running as {user} on {runner} needs your approval: pass --yes, or \"approved\": true in the request"
    )]
    ApprovalRequired {
        /// The runner's name.
        runner: String,
        /// The user that the command names.
        user: String,
    },
    /// The runner cannot replace its own program; nothing was sent.
    #[error(
        "runner {runner} cannot replace its own program: `sandbridge runner rotate {runner}` prints a line to paste on its \
         machine, which installs the newer one"
    )]
    CannotUpdate {
        /// The runner's name.
        runner: String,
    },
    /// The runner does not support HTTP requests; nothing was sent.
    #[error("runner {runner} sends no HTTP requests for the server: {fix}")]
    NoHttp {
        /// The runner's name.
        runner: String,
        /// The reason, and what to do.
        fix: String,
    },
    /// The runner's answer is invalid.
    #[error("runner {runner} answered with {what}; update it, or report this")]
    Protocol {
        /// The runner's name.
        runner: String,
        /// A description of the answer.
        what: &'static str,
    },
    /// Standard input was written to after the command, or its input, had ended.
    #[error("the command has ended and reads no more input")]
    InputClosed,
}

impl SandboxError {
    /// The name for JSON: `offline`, `lost`, `ambiguous`, `approval_required`, `protocol`, `input_closed` or a wire error's name such as
    /// `escapes_workspace`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Offline { .. } => "offline",
            Self::Lost { .. } | Self::NotWritten { .. } | Self::FileChanged { .. } => "lost",
            Self::Ambiguous { .. } => ErrorKind::Ambiguous.name(),
            Self::Remote { kind, .. } => kind.name(),
            Self::ApprovalRequired { .. } => "approval_required",
            Self::CannotUpdate { .. } | Self::NoHttp { .. } => ErrorKind::Unsupported.name(),
            Self::Protocol { .. } => "protocol",
            Self::InputClosed => "input_closed",
        }
    }
}

impl From<WireError> for SandboxError {
    fn from(error: WireError) -> Self {
        Self::Remote { kind: error.kind, message: harmless(&error.description, ERROR_TEXT_BYTES) }
    }
}

/// The reason why there is no sandbox for a user. Another machine is never used instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// The named, or the only registered, runner is not connected.
    #[error("runner {runner} is offline")]
    Offline {
        /// The runner's name.
        runner: String,
    },
    /// No runner is chosen and several are registered.
    #[error("several runners are registered: {}; choose one with `sandbridge use NAME`", names.join(", "))]
    Several {
        /// The names of the user's runners.
        names: Vec<String>,
    },
    /// Nothing is chosen, no runner is registered and Docker is not enabled.
    #[error(
        "no runner is connected to your account: run `sandbridge runner add NAME` and start sandbridge-runner \
         on your machine with the command it prints"
    )]
    NoRunner,
    /// The chosen runner is not registered.
    #[error("you have no runner named {name}; `sandbridge runner list` lists your runners")]
    UnknownRunner {
        /// The name that was requested.
        name: String,
    },
    /// Docker was chosen and is not enabled.
    #[error(
        "Docker is not enabled on this server; choose a runner with `sandbridge use NAME`, or ask the server's administrator"
    )]
    DockerDisabled,
    /// Docker is enabled and does not work.
    #[error("Docker cannot be used: {why}")]
    DockerUnavailable {
        /// The problem, and how to solve it.
        why: String,
    },
    /// Docker works, but its image is not there yet: the next command pulls it, or waits for the pull that is in progress.
    #[error("{why}")]
    ImageNotPulled {
        /// The image, and the progress of its pull if there is one.
        why: String,
    },
    /// The runner has fewer layers than this server's admin requires.
    #[error(
        "runner {runner} lacks {lacking}; this server requires it: {fix} (see `sandbridge-runner doctor`)"
    )]
    Refused {
        /// The runner's name.
        runner: String,
        /// The layers that it lacks, as a list.
        lacking: String,
        /// The fix for the first one.
        fix: &'static str,
    },
    /// The server itself may not be used by this user, or commands would not be confined there.
    #[error("commands on the server itself are refused: {why}")]
    LocalRefused {
        /// The reason for the refusal, with advice on what to do.
        why: String,
    },
    /// The server's own runner does not start.
    #[error("the server's own runner cannot be used: {why}")]
    LocalUnavailable {
        /// The problem, and how to solve it.
        why: String,
    },
}

impl RouteError {
    /// The name for JSON: `offline`, `no_route`, `denied` or `unavailable`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Offline { .. } => "offline",
            Self::Several { .. } | Self::UnknownRunner { .. } => "no_route",
            Self::NoRunner | Self::DockerDisabled | Self::Refused { .. } | Self::LocalRefused { .. } => {
                "denied"
            }
            Self::DockerUnavailable { .. } | Self::ImageNotPulled { .. } | Self::LocalUnavailable { .. } => {
                "unavailable"
            }
        }
    }
}

/// The reason why an operation on a user's whole container failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerError {
    /// The engine does not answer, or could not carry out the operation.
    #[error(transparent)]
    Place(#[from] RouteError),
    /// The user has no container yet.
    #[error(
        "you have no container yet; the first command creates it: sandbridge exec --on __docker__ -- true"
    )]
    Missing,
    /// An earlier commit or import of the same user is in progress.
    #[error("a commit or import of your container is already in progress; try again when it has ended")]
    Busy,
    /// The content exceeds a limit.
    #[error("{what} is larger than {} GiB", limit_bytes >> 30)]
    TooLarge {
        /// The thing that is too large.
        what: &'static str,
        /// The largest size allowed, in bytes.
        limit_bytes: u64,
    },
    /// The upload ended early; nothing was changed.
    #[error("the upload broke off ({why}); nothing was changed: send it again")]
    BrokenOff {
        /// The reason why it ended.
        why: String,
    },
    /// The engine cannot unpack the upload; nothing was changed.
    #[error("this is not a complete tar archive of a container's files: {why}")]
    NotAnArchive {
        /// The engine's own message.
        why: String,
    },
    /// The workspace is a directory of the server, which only commands change.
    #[error(
        "the workspace is a directory on the server and cannot be replaced or removed as a whole; use `sandbridge cp -r` \
         and `rm` for its files"
    )]
    DirectoryWorkspace,
}

impl ContainerError {
    /// The name for JSON: `not_found`, `busy`, `too_large`, `invalid`, `conflict`, or that of the [`RouteError`].
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Place(error) => error.kind(),
            Self::Missing => "not_found",
            Self::Busy => "busy",
            Self::TooLarge { .. } => "too_large",
            Self::BrokenOff { .. } | Self::NotAnArchive { .. } => "invalid",
            Self::DirectoryWorkspace => "conflict",
        }
    }
}

/// The reason why a link ended abnormally. For the log: the peer has already received a suitable message.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// The runner did not register in time.
    #[error("no registration within {} s", proto::limits::HANDSHAKE_TIMEOUT.as_secs())]
    HandshakeTimeout,
    /// The runner's message is not a handshake.
    #[error("malformed handshake: {0}")]
    Malformed(String),
    /// The registration was refused.
    #[error("registration refused ({reason:?}): {message}")]
    Refused {
        /// The reason code that the runner got.
        reason: RefusalReason,
        /// The message that the runner got.
        message: String,
    },
    /// A newer connection of the same runner registered first.
    #[error("this runner already has a newer connection")]
    Stale,
    /// The user's runners were sent away while this one registered. It may dial again, and reaches the user's new server then.
    #[error("the user's runners were sent to another server while this one registered")]
    SentAway,
    /// The link ended before the runner registered.
    #[error("the link ended during the handshake")]
    Ended,
    /// The socket failed.
    #[error("the link failed: {0}")]
    Io(#[from] io::Error),
    /// The peer broke the protocol, or was silent for too long, and was informed of that.
    #[error("the link was closed: {0}")]
    Broken(Close),
}
