//! Exit codes of the runner: between its parts (the guardian, an update's trial), to a service manager, and to people.

/// Exit code after an orderly stop.
pub const EXIT_STOPPED: i32 = 0;
/// Exit code when another runner took over with the same token.
pub const EXIT_REPLACED: i32 = 3;
/// Exit code when the runner was revoked.
pub const EXIT_REVOKED: i32 = 4;
/// Exit code if the server refused the token at first and retrying is off.
pub const EXIT_REFUSED: i32 = 5;
/// Exit code if another program is to replace this one; between the runner and its guardian.
pub const EXIT_UPDATE: i32 = 6;
/// Exit code of a program on trial that registered: any program may end with 0.
pub const EXIT_REGISTERED: i32 = 7;
/// Exit code of a program on trial that did not register.
pub const EXIT_FAILED: i32 = 1;
/// Exit code if a second signal came before an orderly stop was done, as if SIGKILL had reached it.
pub const EXIT_KILLED: i32 = 137;
