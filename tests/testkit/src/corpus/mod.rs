//! The attack corpus: ways out of a root that worked somewhere, as data.
//!
//! Whoever has a file API over a root plants what a case plants (as a confined command could), makes its one
//! attempt, and has the answer judged. The data depends on nothing but [`Plant`] and [`Member`].
//!
//! | module | cases |
//! |---|---|
//! | `paths` | the path itself leads out |
//! | `links` | symbolic and hard links that were planted |
//! | `nodes` | what is no file, and names that are hardly names |
//! | `archives` | archives that were made to be unpacked |
//! | `oracles` | asking whether something exists outside |
//! | `members` | what an archive is made of |

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
    /// With missing folders made on the way.
    WriteWithParents,
    /// On the condition that the file holds what a planted one does.
    WriteIfMatch,
    /// By way of a temporary file, as everybody should.
    Replace,
    Stat,
    List,
    WorkingDirectory,
    MakeDirectories,
    Remove,
    RemoveAll,
    /// To `stolen` in the root, which is read then.
    RenameFrom,
    /// From `mine` in the root.
    RenameTo,
    /// All names beneath.
    Find,
    /// All lines beneath.
    Search,
    /// An archive of what is beneath.
    Pack,
    Unpack(&'static [Member]),
    /// The same, and what the archive has not is removed.
    Mirror(&'static [Member]),
    /// From where there is nothing: refused before that shows.
    Download,
}

/// The answer a guard owes.
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
    /// It succeeds, and neither shows nor changes anything outside.
    Inside,
    /// An answer no case expects.
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
    /// Whether it does harm where paths are joined to the root and used, which a test shows.
    pub is_attack: bool,
}

impl Case {
    /// Whether only the superuser can set the trap.
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

/// A case that does harm where nothing guards.
const fn attack(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, is_attack: true }
}

/// A case that has to be answered well though nothing bad comes of it.
const fn manners(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, is_attack: false }
}
