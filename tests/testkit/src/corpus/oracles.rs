//! Asking whether something exists outside: the answer must be the same whether it does or not.

use super::super::arena::Plant::{self, Chain, Directory, File, Symlink};
use super::Attempt;
use super::members::Member;

/// Two paths, one of which leads to something that exists outside and the other to something that does not.
#[derive(Debug)]
pub struct Oracle {
    pub name: &'static str,
    pub plants: &'static [Plant],
    pub there: &'static [u8],
    pub gone: &'static [u8],
}

/// Every kind of path out of the root.
#[rustfmt::skip]
pub const ORACLES: &[Oracle] = &[
    Oracle { name: "dots", plants: &[File("mine")], there: b"../outside/secret", gone: b"../outside/nobody" },
    Oracle { name: "an absolute path", plants: &[File("mine")], there: b"{base}/outside/secret", gone: b"{base}/outside/nobody" },
    Oracle { name: "a sibling", plants: &[File("mine")], there: b"{root}-evil/secret", gone: b"{root}-evil/nobody" },
    Oracle { name: "a folder", plants: &[File("mine")], there: b"../outside/folder", gone: b"../outside/nobody" },
    Oracle { name: "the way there", plants: &[File("mine")], there: b"../outside/folder/none", gone: b"../outside/nobody/none" },
    Oracle { name: "a kind", plants: &[File("mine")], there: b"../outside/secret/none", gone: b"../outside/folder/none" },
    Oracle { name: "a folder and back", plants: &[File("mine")], there: b"../outside/folder/../../{name}/mine", gone: b"../outside/nobody/../../{name}/mine" },
    Oracle { name: "a link to a folder", plants: &[File("mine"), Symlink("out", "../outside")], there: b"out/secret", gone: b"out/nobody" },
    Oracle { name: "links", plants: &[File("mine"), Symlink("there", "{base}/outside/secret"), Symlink("gone!", "{base}/outside/nobody")], there: b"there", gone: b"gone!" },
    Oracle { name: "relative links", plants: &[File("mine"), Directory("d"), Symlink("d/there", "../../outside/secret"), Symlink("d/gone!", "../../outside/nobody")], there: b"d/there", gone: b"d/gone!" },
    Oracle { name: "links to folders", plants: &[File("mine"), Symlink("there", "../outside/folder"), Symlink("gone!", "../outside/nobody")], there: b"there/x", gone: b"gone!/x" },
    Oracle { name: "a chain of links", plants: &[File("mine"), Chain(5, "../outside")], there: b"chain-1/secret", gone: b"chain-1/nobody" },
];

/// The attempts made with each oracle.
pub const ASKED: &[Attempt] = &[
    Attempt::Read,
    Attempt::Write,
    Attempt::WriteWithParents,
    Attempt::WriteIfMatch,
    Attempt::Stat,
    Attempt::List,
    Attempt::WorkingDirectory,
    Attempt::MakeDirectories,
    Attempt::Remove,
    Attempt::RemoveAll,
    Attempt::RenameFrom,
    Attempt::RenameTo,
    Attempt::Find,
    Attempt::Search,
    Attempt::Pack,
    Attempt::Unpack(&[Member::File("planted")]),
    Attempt::Download,
];
