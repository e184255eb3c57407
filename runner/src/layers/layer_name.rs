//! The names of the layers, as they appear in reports.

/// A separate root file system with only what commands may see.
pub const MOUNT_NAMESPACE: &str = "mount-namespace";
/// Commands cannot see processes outside the runner, and die with it.
pub const PID_NAMESPACE: &str = "pid-namespace";
/// Landlock rules on the file system.
pub const LANDLOCK: &str = "landlock";
/// Landlock's scope: no signals and no abstract sockets to the outside.
pub const LANDLOCK_SCOPE: &str = "landlock-scope";
/// Separate System V IPC objects and message queues for the commands.
pub const IPC_NAMESPACE: &str = "ipc-namespace";
/// A filter of system calls.
pub const SECCOMP: &str = "seccomp";
/// A reduced set of capabilities.
pub const CAPABILITIES: &str = "capabilities";
/// No program can gain privileges.
pub const NO_NEW_PRIVS: &str = "no-new-privs";
/// HOME is a private directory of the workspace.
pub const PRIVATE_HOME: &str = "private-home";
/// The files that git obeys in the workspace's repositories stay unchanged.
pub const GIT_CONFIG: &str = "git-config";
/// No socket or FIFO of a service can be reached in the read-only trees.
pub const SOCKET_FILES: &str = "socket-files";
/// The runner's memory and descriptors cannot be read by others.
pub const NON_DUMPABLE: &str = "non-dumpable";
/// Commands reach less over the network than the machine does.
pub const NETWORK: &str = "network";
/// Limits on the resources of all commands together.
pub const LIMITS: &str = "limits";
/// How everything that a command left is found and killed.
pub const KILL_TIER: &str = "kill-tier";
