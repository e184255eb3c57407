//! The names of the layers, as they appear in reports.

/// An own root file system with only what commands may see.
pub const MOUNT_NAMESPACE: &str = "mount-namespace";
/// Commands cannot see processes outside the runner, and die with it.
pub const PID_NAMESPACE: &str = "pid-namespace";
/// Landlock rules on the file system.
pub const LANDLOCK: &str = "landlock";
/// Landlock's scope: no signals and no abstract sockets to the outside.
pub const LANDLOCK_SCOPE: &str = "landlock-scope";
/// System V IPC objects and message queues of the commands' own.
pub const IPC_NAMESPACE: &str = "ipc-namespace";
/// A filter of system calls.
pub const SECCOMP: &str = "seccomp";
/// A reduced set of capabilities.
pub const CAPABILITIES: &str = "capabilities";
/// No program can gain privileges.
pub const NO_NEW_PRIVS: &str = "no-new-privs";
/// HOME is a directory of the workspace's own.
pub const PRIVATE_HOME: &str = "private-home";
/// What git obeys in the workspace's repositories stays as it is.
pub const GIT_CONFIG: &str = "git-config";
/// No socket or FIFO of a service is in reach in what commands only read.
pub const SOCKET_FILES: &str = "socket-files";
/// The runner's memory and descriptors cannot be read by others.
pub const NON_DUMPABLE: &str = "non-dumpable";
/// Commands reach less over the network than the machine does.
pub const NETWORK: &str = "network";
/// Limits of what all commands together may take.
pub const LIMITS: &str = "limits";
/// How everything a command left behind is found and killed.
pub const KILL_TIER: &str = "kill-tier";
