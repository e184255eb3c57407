//! Every response and event a runner sends.

use crate::codec::{self, Decode, Encode};
use crate::error::{ErrorKind, WireError};
use crate::ids::ExecId;
use crate::path::WirePath;

/// A message struct with its number on the wire.
pub trait MessageType: Encode + Decode<()> + Into<Message> + TryFrom<Message, Error = Message> {
    /// The number on the wire.
    const TYPE: u16;
}

macro_rules! messages {
    ($($number:literal $name:ident, $text:literal;)*) => {
        /// A message of any type.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Message {
            $(#[doc = $text] $name($name),)*
        }

        $(
            impl MessageType for $name {
                const TYPE: u16 = $number;
            }

            impl From<$name> for Message {
                fn from(message: $name) -> Self {
                    Message::$name(message)
                }
            }

            impl TryFrom<Message> for $name {
                type Error = Message;

                fn try_from(message: Message) -> Result<Self, Message> {
                    match message {
                        Message::$name(message) => Ok(message),
                        #[allow(unreachable_patterns)]
                        other => Err(other),
                    }
                }
            }
        )*

        impl Message {
            /// Number and name of every message, for the specification's test.
            pub const TABLE: &[(u16, &str)] = &[$(($number, stringify!($name))),*];

            /// The number on the wire.
            pub fn type_number(&self) -> u16 {
                match self { $(Message::$name(_) => $number,)* }
            }

            pub(crate) fn encode(&self) -> Result<Vec<u8>, WireError> {
                match self { $(Message::$name(message) => codec::encode(message),)* }
            }

            pub(crate) fn decode(number: u16, body: &[u8]) -> Result<Self, WireError> {
                match number {
                    $($number => codec::decode::<$name>(body).map(Message::$name),)*
                    other => Err(WireError::new(
                        ErrorKind::InvalidBody,
                        format!("message type {other} is unknown here; one of the two sides is older than the other"),
                    )),
                }
            }
        }
    };
}

messages! {
    1 Done, "It succeeded, without a further result.";
    2 ExecStarted, "The command's process exists.";
    3 ExecExited, "The command's own process ended.";
    4 ExecStreamsClosed, "No more output will come; the exec is complete.";
    5 ExecTreeGone, "The last descendant of an exec ended.";
    6 Attached, "The stream continues what an earlier one started.";
    7 ExecReport, "The state of an exec.";
    8 ExecList, "The execs that are still remembered.";
    10 FileOpened, "The file that is being streamed.";
    11 FileRead, "The file was streamed.";
    12 FileWritten, "The file is on disk under its name.";
    13 Metadata, "Metadata of a path.";
    14 DirRead, "The directory was listed.";
    15 GlobDone, "The paths were found.";
    16 GrepDone, "The lines were found.";
    17 TreeRead, "The tree was streamed.";
    18 TreeWritten, "The tree is on disk.";
    19 Resolved, "The target of a path.";
    20 TreeHashed, "The hash of a tree.";
    30 LlmHeaders, "The status and headers of the LLM endpoint's response.";
    31 LlmDone, "The LLM endpoint's response is complete.";
    32 HttpHeaders, "The status and headers of the response to an HTTP request.";
    33 HttpDone, "The response to an HTTP request is complete.";
}

/// The request succeeded; there is no further result.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Done {}

/// The command's process exists.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecStarted {
    /// Process id as the runner sees it; informative.
    pub pid: u32,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum ExitStatus {
    /// The process exited with this code, 0 to 255.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
}

/// The command's own process ended; descendants may live on and hold its output open.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecExited {
    /// The status that the kernel reported, never a guess.
    pub status: ExitStatus,
    /// True if the time limit ended it.
    pub timed_out: bool,
    /// True if a cancel ended it.
    pub cancelled: bool,
    /// True if confinement made it fail, as far as that can be known.
    pub sandbox_denied: bool,
    /// Wall-clock time from start to exit, in microseconds.
    pub duration_us: u64,
}

/// No more output will come; offsets are final.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecStreamsClosed {
    /// Bytes the command wrote to standard output.
    pub stdout_bytes: u64,
    /// Bytes the command wrote to standard error.
    pub stderr_bytes: u64,
    /// Bytes of both that were not sent (cap or gap).
    pub dropped_bytes: u64,
    /// True if a descendant still held the output open when the exec was completed.
    pub still_open: bool,
}

/// The last descendant of an exec ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecTreeGone {
    /// The exec whose processes have all ended.
    pub exec_id: ExecId,
}

/// The stream continues an earlier one's work.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Attached {
    /// How much standard input the command took from earlier streams, in bytes; DATA continues at this offset.
    pub input_bytes: u64,
}

/// The state of an exec.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecReport {
    /// How it ended; absent while it runs.
    pub exited: Option<ExecExited>,
    /// True if it is complete: no more output will come.
    pub complete: bool,
    /// Time since its start, in milliseconds.
    pub age_ms: u64,
    /// Bytes written so far on both channels, including dropped ones.
    pub output_bytes: u64,
    /// The beginning of the output, both channels in the order they were read.
    pub head: Vec<u8>,
    /// The end of the output, without any part that is in `head`.
    pub tail: Vec<u8>,
}

/// One exec of a list.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecEntry {
    /// The id that the originator chose.
    pub exec_id: ExecId,
    /// True if its own process still runs.
    pub running: bool,
    /// Time since its start, in milliseconds.
    pub age_ms: u64,
    /// Bytes written so far.
    pub output_bytes: u64,
}

/// The execs that are still remembered.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct ExecList {
    /// The newest first; at most 4,096.
    pub execs: Vec<ExecEntry>,
}

/// The file that is being streamed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct FileOpened {
    /// The file's size when it was opened, in bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// Last modification, Unix milliseconds.
    pub modified_ms: i64,
}

/// The file was streamed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct FileRead {
    /// Bytes sent.
    pub bytes: u64,
}

/// The file is on disk under its name.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct FileWritten {
    /// Bytes written.
    pub bytes: u64,
}

/// The kind of file that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, FIFO or socket.
    Other,
}

/// Metadata of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Metadata {
    /// The kind of file, symlinks followed.
    pub kind: FileKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// Last modification, Unix milliseconds.
    pub modified_ms: i64,
}

/// The resolved target of a path.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Resolved {
    /// The place relative to the workspace, without symbolic links, `.` and `..`; `.` is the workspace itself.
    pub path: WirePath,
    /// The file there; absent if there is none.
    pub found: Option<Metadata>,
    /// The SHA-256 of a regular file's content, if it has at most 1 GiB.
    pub sha256: Option<[u8; 32]>,
}

/// The hash of a tree.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TreeHashed {
    /// The SHA-256 of [`tree_bytes`](crate::request::tree_bytes).
    pub sha256: [u8; 32],
}

/// One entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DirEntry {
    /// The name, any bytes but NUL and slash.
    pub name: Vec<u8>,
    /// The entry's kind, symlinks not followed.
    pub kind: FileKind,
    /// Size in bytes.
    pub size_bytes: u64,
}

/// The content of each DATA frame of a listing; encoded like a control body.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DirBatch {
    /// Some of the entries, in no particular order.
    pub entries: Vec<DirEntry>,
}

/// The directory was listed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DirRead {
    /// Entries sent.
    pub entries: u64,
}

/// The reason why the result of a search is incomplete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Truncation {
    /// There are more results than requested, or than the runner sends.
    Results,
    /// There are more files and directories than the runner visits.
    Entries,
    /// The search would have taken longer than the runner's time limit.
    Time,
    /// A directory is too deep, or a path is too long.
    Depth,
    /// A line is longer than the part that the runner searches; the rest of it was skipped.
    LongLine,
}

/// One path that was found.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GlobEntry {
    /// The request's path joined with the path below it, as other requests accept it.
    pub path: Vec<u8>,
    /// The file's kind, symlinks not followed.
    pub kind: FileKind,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Last modification, Unix milliseconds.
    pub modified_ms: i64,
}

/// The content of each DATA frame of a [`crate::request::Glob`]; encoded like a control body.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GlobBatch {
    /// Some of the results, the newest first.
    pub entries: Vec<GlobEntry>,
}

/// The paths were found.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GlobDone {
    /// Results sent.
    pub entries: u64,
    /// The number of results, as far as the search went.
    pub matched: u64,
    /// The reason why there may be more than was sent.
    pub truncated: Option<Truncation>,
}

/// One matching line, or one near a match.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GrepLine {
    /// The line's number in the file, from 1.
    pub number: u64,
    /// True if it matches; else it is context.
    pub is_match: bool,
    /// True if `text` is only a part of the line: the part where the match begins.
    pub is_cut: bool,
    /// The line without its end, any bytes.
    pub text: Vec<u8>,
}

/// Lines of one file.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GrepFile {
    /// The request's path joined with the path below it, as other requests accept it.
    pub path: Vec<u8>,
    /// Some of its lines, from the top; more may follow in the next batch.
    pub lines: Vec<GrepLine>,
}

/// The content of each DATA frame of a [`crate::request::Grep`]; encoded like a control body.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GrepBatch {
    /// Some of the results.
    pub files: Vec<GrepFile>,
}

/// The lines were found.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct GrepDone {
    /// The number of matching lines sent.
    pub matches: u64,
    /// The number of files that contain these lines.
    pub files: u64,
    /// The number of files searched, including those without a match.
    pub searched: u64,
    /// The number of files that were left out because they are binary, from the point where that was noticed.
    pub binary: u64,
    /// The number of files and directories that were left out because they could not be read.
    pub unreadable: u64,
    /// The reason why there may be more than was sent; the first of several.
    pub truncated: Option<Truncation>,
}

/// The tree was streamed.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TreeRead {
    /// Regular files sent.
    pub files: u64,
    /// Directories sent, the top one included.
    pub directories: u64,
    /// Symbolic links sent.
    pub symlinks: u64,
    /// The files' content, in bytes.
    pub size_bytes: u64,
    /// Entries that were left out: special files, links that lead out, unreadable files.
    pub skipped: u64,
    /// A note for people: how much was left out, with the first entry and its reason.
    pub note: Option<String>,
}

/// The tree is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct TreeWritten {
    /// Regular files written.
    pub files: u64,
    /// Directories created, or existing already.
    pub directories: u64,
    /// Symbolic links made.
    pub symlinks: u64,
    /// The files' content, in bytes.
    pub size_bytes: u64,
    /// Entries that a mirror removed; a directory counts once with all its content.
    pub removed: u64,
}

/// The status and headers of the LLM endpoint's response; the body follows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LlmHeaders {
    /// The HTTP status, which may be that of an error.
    pub status: u16,
    /// Names in lower case and values, without those that concern one connection or contain secrets.
    pub headers: Vec<(String, String)>,
}

/// The LLM endpoint's response is complete.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LlmDone {
    /// The size of the response's body, in bytes.
    pub bytes: u64,
}

/// The status and headers of the response to an HTTP request; the body follows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HttpHeaders {
    /// The HTTP status, which may be that of an error or a redirect.
    pub status: u16,
    /// Names in lower case and values, without those that concern one connection.
    pub headers: Vec<(String, Vec<u8>)>,
}

/// The response to an HTTP request is complete.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HttpDone {
    /// The size of the response's body, in bytes.
    pub bytes: u64,
}
