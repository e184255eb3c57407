//! The attack corpus: ways out of a root that worked somewhere, as data.
//!
//! A test of a file API over a root plants a case's files (as a confined command could), makes its one attempt, and has the
//! answer judged. The data depends on nothing but [`Plant`] and [`Member`].
//!
//! | module | cases |
//! |---|---|
//! | `paths` | the path itself leads out |
//! | `links` | planted symbolic and hard links |
//! | `nodes` | entries that are not files, and odd names |
//! | `archives` | malicious archives |
//! | `oracles` | asking whether something exists outside |
//! | `members` | the parts of an archive |

mod archives;
mod links;
pub mod members;
mod nodes;
pub mod oracles;
mod paths;

use self::members::Member;
use super::arena::Plant;

/// One way to use a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    Read,
    Write,
    /// A write that creates missing folders on the way.
    WriteWithParents,
    /// A write on condition that the file has the content of planted files.
    WriteIfMatch,
    /// A write through a temporary file, as it should be done.
    Replace,
    Stat,
    List,
    WorkingDirectory,
    MakeDirectories,
    Remove,
    RemoveAll,
    /// A rename to `stolen` in the root, which is then read.
    RenameFrom,
    /// A rename from `mine` in the root.
    RenameTo,
    /// A list of all names below.
    Find,
    /// A search through all lines below.
    Search,
    /// An archive of everything below.
    Pack,
    Unpack(&'static [Member]),
    /// An archive that is unpacked; existing entries that it does not contain are removed.
    Mirror(&'static [Member]),
    /// A download from an address where nothing listens; a guard refuses before that is noticed.
    Download,
}

/// The answer required of a guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Escapes,
    Special,
    TooLong,
    TooManyLinks,
    TooLarge,
    Invalid,
    Missing,
    IsDirectory,
    NotDirectory,
    /// The archive is refused.
    Archive,
    /// The attempt succeeds, and neither shows nor changes anything outside.
    Inside,
    /// An answer that no case expects.
    Other,
}

/// One case of the corpus.
#[derive(Debug)]
pub struct Case {
    pub name: &'static str,
    pub plants: &'static [Plant],
    pub attempt: Attempt,
    /// Bytes, relative to the root; the arena replaces placeholders.
    pub path: &'static [u8],
    pub expected: Expected,
    /// True if it does harm where paths are simply joined to the root and used, which a test shows.
    pub is_attack: bool,
}

impl Case {
    /// True if only the superuser can set the trap.
    pub fn takes_root(&self) -> bool {
        let makes_device = match self.attempt {
            Attempt::Unpack(members) | Attempt::Mirror(members) => {
                members.iter().any(|member| matches!(member, Member::Device(_)))
            }
            _ => false,
        };
        makes_device || self.plants.iter().any(Plant::takes_root)
    }
}

/// Every case.
pub fn cases() -> impl Iterator<Item = &'static Case> {
    [paths::CASES, links::CASES, nodes::CASES, archives::CASES].into_iter().flatten()
}

/// A case that does harm without a guard.
const fn attack(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, is_attack: true }
}

/// A case that needs a proper answer though it does no harm.
const fn manners(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, is_attack: false }
}
