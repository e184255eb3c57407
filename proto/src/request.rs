//! Every request a server can make of a runner, and the table that names its number and its response.
//!
//! To add one: write its struct here, give it a line with a number never used before in the `requests!` table, its
//! response in [`crate::message`], a row in `PROTOCOL.md`, and an arm where the runner dispatches. A struct that
//! shipped never changes.

mod hash_tree;
mod relay;
mod resolved;
mod worktree;

use crate::codec::{self, Decode, Encode};
use crate::error::{ErrorKind, WireError};
use crate::ids::ExecId;
use crate::message;
use crate::path::WirePath;
pub use hash_tree::{HashTree, HashedEntry, HashedKind, tree_bytes};
pub use relay::{Http, Llm};
pub use resolved::{DownloadResolved, Present, Resolve, WriteResolved};
pub use worktree::{
    WORKTREE_BRANCHES, WORKTREE_NAME_BYTES, WORKTREE_NAME_RULE, WORKTREES, Worktree, WorktreeAction,
    is_worktree_name,
};

/// A request struct with its number on the wire and its response.
pub trait RequestType: Encode + Decode<()> + Into<Request> {
    /// The number on the wire.
    const TYPE: u16;
    /// True if DATA frames follow in either direction; such streams are capped at 128 per link.
    const CARRIES_DATA: bool;
    /// The message that ends the stream when the request succeeded.
    type Response: message::MessageType;
}

macro_rules! requests {
    ($($number:literal $name:ident -> $response:ident, $data:literal, $text:literal;)*) => {
        /// A request of any type.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Request {
            $(#[doc = $text] $name($name),)*
        }

        $(
            impl RequestType for $name {
                const TYPE: u16 = $number;
                const CARRIES_DATA: bool = $data;
                type Response = message::$response;
            }

            impl From<$name> for Request {
                fn from(request: $name) -> Self {
                    Request::$name(request)
                }
            }
        )*

        impl Request {
            /// Number, name and response of every request, for the specification's test.
            pub const TABLE: &[(u16, &str, &str)] = &[$(($number, stringify!($name), stringify!($response))),*];

            /// The number on the wire.
            pub fn type_number(&self) -> u16 {
                match self { $(Request::$name(_) => $number,)* }
            }

            /// The offset at which the answering side's data begins.
            pub fn first_offset(&self) -> u64 {
                if let Request::Attach(attach) = self { attach.offset } else { 0 }
            }

            /// True if DATA frames follow in either direction.
            pub fn carries_data(&self) -> bool {
                match self { $(Request::$name(_) => $data,)* }
            }

            pub(crate) fn encode(&self) -> Result<Vec<u8>, WireError> {
                match self { $(Request::$name(request) => codec::encode(request),)* }
            }

            pub(crate) fn decode(number: u16, body: &[u8]) -> Result<Self, WireError> {
                match number {
                    $($number => codec::decode::<$name>(body).map(Request::$name),)*
                    other => Err(WireError::new(
                        ErrorKind::UnknownRequest,
                        format!("request type {other} is unknown here; one of the two sides is older than the other"),
                    )),
                }
            }
        }
    };
}

requests! {
    1 Exec -> ExecStreamsClosed, true, "Runs a command.";
    2 Signal -> Done, false, "Sends a signal to an exec's whole tree.";
    3 Attach -> ExecStreamsClosed, true, "Continues an exec or a change that an earlier stream started.";
    4 Report -> ExecReport, false, "The state of an exec, with the head and the tail of its output.";
    5 List -> ExecList, false, "The execs that this runner still remembers.";
    6 Resize -> Done, false, "Changes the size of an exec's terminal.";
    10 ReadFile -> FileRead, true, "Reads a file, or a range of it.";
    11 WriteFile -> FileWritten, true, "Writes a whole file: temporary file, fsync, rename.";
    12 Stat -> Metadata, false, "Requests metadata of a path, symlinks followed.";
    13 ReadDir -> DirRead, true, "Lists a directory.";
    14 MkdirAll -> Done, false, "Makes a directory and its parents.";
    15 Remove -> Done, false, "Removes a file, a symlink or an empty directory.";
    16 RemoveAll -> Done, false, "Removes a tree; a missing one is not an error.";
    17 Rename -> Done, false, "Renames within the workspace.";
    18 Glob -> GlobDone, true, "Finds paths by a pattern.";
    19 Grep -> GrepDone, true, "Finds lines by a regular expression.";
    20 ReadTree -> TreeRead, true, "Reads a directory with all that is in it, as a tar archive.";
    21 WriteTree -> TreeWritten, true, "Fills a directory from a tar archive.";
    22 Download -> FileWritten, false, "Fetches a URL into a file.";
    23 Resolve -> Resolved, false, "Resolves a path, and reports the file there.";
    24 WriteResolved -> FileWritten, true, "Writes a whole file where a resolved path leads, if nothing changed there.";
    25 DownloadResolved -> FileWritten, false, "Fetches a URL into a file where a resolved path leads, if nothing changed there.";
    26 Update -> Done, false, "Replaces the runner's program by the one that the server hands out.";
    27 Worktree -> Done, false, "Makes or removes a linked worktree of a git repository.";
    28 HashTree -> TreeHashed, false, "Hashes a directory with all that is in it.";
    30 Llm -> LlmDone, true, "Asks the LLM endpoint that the runner was given.";
    31 Http -> HttpDone, true, "Sends one HTTP request from the runner's network.";
}

/// A command: a program with its arguments, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Command {
    /// A program, looked up in PATH, and its arguments; the first is the program.
    Argv(Vec<Vec<u8>>),
    /// A line for the runner's shell (`-c`).
    Shell(Vec<u8>),
}

/// The source of an exec's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Stdin {
    /// Empty: reads end at once.
    Empty,
    /// DATA frames on the main channel, until END.
    Stream,
}

/// A runner's treatment of output for which there is no credit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Overflow {
    /// The pipe fills and the command waits.
    Block,
    /// The oldest output is dropped and reported by a GAP.
    DropOldest,
}

/// The confinement of a command. Later variants allow more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Profile {
    /// The workspace can be read, not written.
    ReadOnly,
    /// The workspace can be read and written, the rest of the machine only as far as builds need it.
    Workspace,
    /// Everything that the runner's user may do.
    FullControl,
}

impl Profile {
    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Profile::ReadOnly => "read-only",
            Profile::Workspace => "workspace",
            Profile::FullControl => "full-control",
        }
    }
}

/// A terminal for a command: its standard streams are one pseudo-terminal, whose output is the channel stdout.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Pty {
    /// Height in character cells.
    pub rows: u16,
    /// Width in character cells.
    pub columns: u16,
    /// The terminal's type, for the variable `TERM`.
    pub term: String,
}

/// Runs a command in a new session and streams its output.
///
/// Messages on the stream: [`message::ExecStarted`], then DATA and END on stdout and stderr alongside
/// [`message::ExecExited`], and last [`message::ExecStreamsClosed`]. [`message::ExecTreeGone`] comes on the session's
/// stream when the last descendant ended, which may be much later.
///
/// Sent again with the same id and the same content (except for its age) it does not run again: it attaches, as [`Attach`]
/// from offset 0 does.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Exec {
    /// Chosen by the originator; the same id with the same request attaches; with another request it is a conflict.
    pub exec_id: ExecId,
    /// The program or the shell line to run.
    pub command: Command,
    /// Working directory; the workspace when absent.
    pub cwd: Option<WirePath>,
    /// Variables added to the clean environment, name and value.
    pub env: Vec<(Vec<u8>, Vec<u8>)>,
    /// Standard input.
    pub stdin: Stdin,
    /// True if standard error goes into the standard output's pipe, in the order it was written.
    pub merge_stderr: bool,
    /// TERM, grace, KILL on the whole tree after this long, in milliseconds; no limit when absent.
    pub timeout_ms: Option<u64>,
    /// Output beyond this many bytes is counted and not sent; no cap when absent.
    pub output_cap_bytes: Option<u64>,
    /// The treatment of output while there is no credit.
    pub overflow: Overflow,
    /// Operating-system user to run as; the runner's when absent.
    pub run_as: Option<String>,
    /// A profile narrower than the runner's; a wider one is refused.
    pub profile: Option<Profile>,
    /// A terminal instead of pipes; `stdin` and `merge_stderr` have no effect then.
    pub pty: Option<Pty>,
    /// Keep the output for clients that attach later, as far as there is room, instead of only what its reader has not drained.
    pub retain: bool,
    /// How long ago the originator chose the id, by its own clock, in milliseconds. A request older than the runner's memory
    /// is refused as `expired`: it may have run already.
    pub age_ms: u64,
}

impl Exec {
    /// A command with defaults: no input, no limits, output that waits for its reader.
    pub fn new(exec_id: ExecId, command: Command) -> Self {
        Self {
            exec_id,
            command,
            cwd: None,
            env: Vec::new(),
            stdin: Stdin::Empty,
            merge_stderr: false,
            timeout_ms: None,
            output_cap_bytes: None,
            overflow: Overflow::Block,
            run_as: None,
            profile: None,
            pty: None,
            retain: false,
            age_ms: 0,
        }
    }
}

/// Resumes an earlier stream's work: an exec, or a change to files.
///
/// The answer begins with [`message::Attached`]; then the stream continues as if it were the exec's own, with the output
/// from `offset` on (a GAP on the main channel replaces output that is not kept any more), and with DATA for standard input
/// from [`message::Attached::input_bytes`] on. An exec that has ended answers the same way until its result was
/// acknowledged. For a change there is no data: its answer, or its failure, follows once it is known.
///
/// An exec without `retain` has one reader of its output: the newest; the one before is failed with `detached`.
/// Fails with `no_such_exec` for an id that this process of the runner never received.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Attach {
    /// The exec's id, or the change's.
    pub id: ExecId,
    /// How many bytes of output, all channels and gaps together, the client already has.
    pub offset: u64,
    /// True if output is wanted; otherwise only messages are sent.
    pub output: bool,
}

/// Requests the state of an exec.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Report {
    /// The exec to report on.
    pub exec_id: ExecId,
    /// How much of the beginning of the exec's output to report, in bytes; at most 128 KiB.
    pub head_bytes: u32,
    /// How much of the end of the exec's output to report, in bytes; at most 128 KiB.
    pub tail_bytes: u32,
}

/// Requests the list of execs: those that run, and those whose result is kept.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct List {}

/// Asks the runner to replace its program by the newer one that the server hands out.
///
/// Succeeds once that program is downloaded and verified. The runner then waits until nothing runs, tries the new program,
/// and reconnects with it; if that fails it reconnects with the old program and with
/// [`crate::handshake::Facts::update_error`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Update {}

/// Changes the size of a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resize {
    /// The exec that has it.
    pub exec_id: ExecId,
    /// Height in character cells.
    pub rows: u16,
    /// Width in character cells.
    pub columns: u16,
}

/// Sends a signal to every process of an exec.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Signal {
    /// The exec to signal.
    pub exec_id: ExecId,
    /// Signal number, 1 to 64.
    pub signal: i32,
}

/// Streams a regular file: [`message::FileOpened`], DATA, END, [`message::FileRead`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadFile {
    /// The file to read.
    pub path: WirePath,
    /// The offset of the first byte.
    pub offset: u64,
    /// The maximum number of bytes to send; to the end when absent.
    pub length: Option<u64>,
}

/// Replaces or creates a regular file from the DATA that follows, until END.
///
/// Nothing is visible before the whole content is on disk; a cancelled or broken stream leaves nothing behind.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WriteFile {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The file to write.
    pub path: WirePath,
    /// Permission bits (0o777 at most); the old file's, or 0o644, when absent.
    pub mode: Option<u32>,
    /// True if missing parent directories are made.
    pub parents: bool,
    /// Bytes that will follow, if known; a different count fails.
    pub size_bytes: Option<u64>,
    /// Fails with `precondition_failed` unless the current content has this SHA-256.
    pub if_match: Option<[u8; 32]>,
}

/// Requests metadata of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Stat {
    /// The path to examine.
    pub path: WirePath,
}

/// Lists a directory: DATA frames that each hold a whole [`message::DirBatch`], END, [`message::DirRead`].
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadDir {
    /// The directory to list.
    pub path: WirePath,
}

/// Makes a directory and any missing parents.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MkdirAll {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The directory to make.
    pub path: WirePath,
    /// Permission bits of the created directories.
    pub mode: u32,
}

/// Removes one entry.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Remove {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The entry; a symlink is removed itself.
    pub path: WirePath,
}

/// Removes a tree without following symlinks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct RemoveAll {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The top of the tree; never the workspace itself.
    pub path: WirePath,
}

/// Renames within the workspace, replacing the target.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Rename {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The current name.
    pub from: WirePath,
    /// The new name.
    pub to: WirePath,
}

/// Finds paths by a pattern: DATA frames that each hold a whole [`message::GlobBatch`], END, [`message::GlobDone`].
///
/// The newest come first, by last modification; equally old ones in the order of their paths' bytes. Symbolic links are
/// listed themselves and not followed. `.git` is never searched.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Glob {
    /// Matched against the path below `path`: `?` and `*` stay within a name, `**` is any number of directories, `[a-z]`,
    /// `{a,b}`; names that begin with a dot are not special. Ends with a slash to find directories, which are not found
    /// otherwise.
    pub pattern: String,
    /// The directory to look below.
    pub path: WirePath,
    /// True to also find files that `.gitignore` excludes.
    pub ignored: bool,
    /// The maximum number of results, the newest first; the runner has its own limit.
    pub max_results: u32,
}

/// Finds lines by a regular expression: DATA frames that each hold a whole [`message::GrepBatch`], END,
/// [`message::GrepDone`].
///
/// Files come in no particular order, the lines of one file from its top. Symbolic links below `path` are not followed; binary
/// files (those with a NUL byte) are left out, and so is `.git`.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Grep {
    /// A regular expression in the syntax of the Rust crate `regex`, matched against one line at a time.
    pub pattern: String,
    /// The directory to look below, or one file.
    pub path: WirePath,
    /// A pattern as [`Glob::pattern`]; one without a slash is matched against the name alone.
    pub include: Option<String>,
    /// True if upper and lower case are the same.
    pub ignore_case: bool,
    /// How many lines around each match are sent too; the runner has its own limit.
    pub context_lines: u32,
    /// True to also search files that `.gitignore` excludes.
    pub ignored: bool,
    /// The maximum number of matching lines; the runner has its own limit.
    pub max_results: u32,
}

/// Streams a directory with all its content as a tar archive: DATA, END, [`message::TreeRead`].
///
/// The archive is ustar with pax records; the directory itself is its first entry. It holds regular files, directories
/// and the symbolic links that stay in the tree; other entries, and unreadable ones, are left out and counted, and named in
/// a pax record `comment` at the archive's end.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ReadTree {
    /// The directory to archive.
    pub path: WirePath,
}

/// Fills a directory from the tar archive in the DATA that follows, until END.
///
/// Each file is complete or absent. A stream that fails, is cancelled or loses its link leaves the earlier entries; the failure's description
/// contains their counts. Hard links, devices, FIFOs, sparse files, absolute paths, `..`, and links that lead out of the tree end it. Permission bits
/// are set exactly, except set-user-id, set-group-id and sticky.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct WriteTree {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The directory; it is created with any missing parents.
    pub path: WirePath,
    /// Makes the directory a mirror: once the archive is complete, entries missing from it are removed.
    pub delete_extra: bool,
}

/// Fetches a URL into a file, which gets its name when it is complete.
///
/// The runner itself connects, from its own network; a private address fails with `sandbox_denied`, unless the machine's user named the host. At most
/// 10 redirects are followed, within the URL's origin (scheme, host and port; from `http` to `https` on their default ports too); one to another
/// origin fails with its address. The download continues if the link is lost.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Download {
    /// Identifies this change permanently; it is not made again if sent again.
    pub id: ExecId,
    /// The URL, with `http` or `https`.
    pub url: String,
    /// The file to write.
    pub path: WirePath,
    /// Permission bits (0o777 at most); the old file's, or 0o644, when absent.
    pub mode: Option<u32>,
    /// True if missing parent directories are made.
    pub parents: bool,
    /// Fails with `too_large` beyond this many bytes; the runner has its own limit.
    pub max_bytes: u64,
    /// Fails with `precondition_failed` unless the content has this SHA-256.
    pub sha256: Option<[u8; 32]>,
}
