//! How everything that a runner started is found when the runner ends.

use crate::sys;

/// How everything that a runner started is found when the runner ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KillTier {
    /// The runner was started without a guardian, as tests do.
    Unguarded,
    /// The runner is the init process of a container.
    ContainerInit,
    /// The runner is the init process of its own PID namespace.
    PidNamespace,
    /// The runner is the init process of its own PID namespace, inside a user namespace.
    UserPidNamespace,
    /// Orphans are handed to the runner or the guardian, which walk their descendants.
    Subreaper,
}

impl KillTier {
    /// The tier's name in reports and at registration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unguarded => "unguarded",
            Self::ContainerInit => "container-init",
            Self::PidNamespace => "pid-namespace",
            Self::UserPidNamespace => "user-pid-namespace",
            Self::Subreaper => "subreaper",
        }
    }

    /// True if the runner is the init process of a PID namespace.
    pub(crate) fn is_init(self) -> bool {
        self.is_namespace() && std::process::id() == 1
    }

    pub(crate) fn is_namespace(self) -> bool {
        match self {
            Self::ContainerInit | Self::PidNamespace | Self::UserPidNamespace => true,
            Self::Unguarded | Self::Subreaper => false,
        }
    }

    /// True if the runner gets its own PID namespace from its guardian.
    pub(crate) fn makes_namespace(self) -> bool {
        match self {
            Self::PidNamespace | Self::UserPidNamespace => true,
            Self::Unguarded | Self::ContainerInit | Self::Subreaper => false,
        }
    }

    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Unguarded => "started without the guardian",
            Self::ContainerInit => "the container's own",
            Self::PidNamespace => "own, with its own /proc",
            Self::UserPidNamespace => "own, in a user namespace",
            Self::Subreaper => "not permitted here (neither root nor a user namespace)",
        }
    }

    pub(crate) fn fork_flags(self) -> i32 {
        match self {
            Self::PidNamespace => sys::FORK_PID_NAMESPACE,
            Self::UserPidNamespace => sys::FORK_USER_NAMESPACE,
            Self::Unguarded | Self::ContainerInit | Self::Subreaper => sys::FORK_PLAIN,
        }
    }
}
