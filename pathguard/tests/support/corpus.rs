//! The attack corpus: ways out of a root that worked somewhere, as data.
//!
//! Whoever has a file API over a root plants what a case plants (as a confined command could), makes its one
//! attempt, and compares the answer and the outside. The data depends on nothing but [`Plant`].

use super::arena::Plant::{self, Chain, Directory, Fifo, File, HardLink, Socket, Sparse, Symlink};

/// One way to use a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    Read,
    Write,
    /// With missing folders made on the way.
    WriteWithParents,
    Stat,
    List,
    WorkingDirectory,
    MakeDirectories,
    Remove,
    RemoveAll,
    /// To `stolen` in the root.
    RenameFrom,
    /// From `mine` in the root.
    RenameTo,
}

/// The answer a guard owes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Escapes,
    Special,
    TooLong,
    TooManyLinks,
    Invalid,
    Missing,
    IsDirectory,
    NotDirectory,
    /// It succeeds, and neither shows nor changes anything outside.
    Inside,
    /// An answer no case expects.
    Other,
}

/// One case of the corpus.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) plants: &'static [Plant],
    pub(crate) attempt: Attempt,
    /// Bytes, relative to the root; `{base}` is the folder above it.
    pub(crate) path: &'static [u8],
    pub(crate) expected: Expected,
    /// Whether joining the path to the root and using it gets out, which a test shows.
    pub(crate) escapes_unguarded: bool,
}

const fn case(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, escapes_unguarded: false }
}

/// A case that gets out of a root guarded by nothing.
const fn escape(
    name: &'static str,
    plants: &'static [Plant],
    attempt: Attempt,
    path: &'static [u8],
    expected: Expected,
) -> Case {
    Case { name, plants, attempt, path, expected, escapes_unguarded: true }
}

use Attempt::{
    List, MakeDirectories, Read, Remove, RemoveAll, RenameFrom, RenameTo, Stat, WorkingDirectory, Write,
    WriteWithParents,
};
use Expected::{
    Escapes, Inside, Invalid, IsDirectory, Missing, NotDirectory, Special, TooLong, TooManyLinks,
};

const OUT: &[Plant] = &[Symlink("out", "{base}/outside")];
const OUT_RELATIVE: &[Plant] = &[Symlink("out", "../outside")];
const OUT_AND_MINE: &[Plant] = &[Symlink("out", "../outside"), File("mine")];

#[rustfmt::skip]
pub(crate) const CASES: &[Case] = &[
    // String prefixes and dots.
    escape("a sibling that begins like the root", &[], Read, b"{base}/work-evil/secret", Escapes),
    escape("that sibling by dots", &[], Read, b"../work-evil/secret", Escapes),
    escape("an absolute path", &[], Read, b"{base}/outside/secret", Escapes),
    escape("an absolute path that starts in the root", &[], Read, b"{base}/work/../outside/secret", Escapes),
    escape("dots", &[], Read, b"../outside/secret", Escapes),
    escape("dots after real folders", &[Directory("a/b")], Read, b"a/b/../../../outside/secret", Escapes),
    escape("dots after a link to the root", &[Symlink("here", ".")], Read, b"here/../outside/secret", Escapes),
    case("dots after a missing folder", &[], Read, b"missing/../../outside/secret", Missing),
    case("the root in other letters", &[], Read, b"{base}/WORK/secret", Escapes),
    escape("the parent listed", &[], List, b"../outside/folder", Escapes),
    escape("dots made", &[], MakeDirectories, b"../outside/made", Escapes),
    escape("dots written with parents", &[], WriteWithParents, b"../outside/made/file", Escapes),
    case("the parent removed", &[], RemoveAll, b"..", Escapes),
    case("the parent by way of a folder removed", &[Directory("a")], RemoveAll, b"a/../..", Escapes),

    // Symbolic links that were planted.
    escape("a link to a file", &[Symlink("link", "{base}/outside/secret")], Read, b"link", Escapes),
    escape("a relative link to a file", &[Symlink("link", "../outside/secret")], Read, b"link", Escapes),
    case("a link to nothing outside answers the same", &[Symlink("link", "{base}/outside/none")], Read, b"link", Escapes),
    case("a relative link to nothing outside too", &[Symlink("link", "../outside/none")], Read, b"link", Escapes),
    escape("a file through a link to a folder", OUT, Read, b"out/secret", Escapes),
    escape("a link to a link", &[Symlink("a", "b"), Symlink("b", "../outside/secret")], Read, b"a", Escapes),
    escape("a link in a folder", &[Directory("d"), Symlink("d/l", "../../outside/secret")], Read, b"d/l", Escapes),
    escape("a chain of links that ends outside", &[Chain(9, "../outside/secret")], Read, b"chain-1", Escapes),
    escape("a stat through a link", OUT, Stat, b"out/secret", Escapes),
    escape("a stat of a link", &[Symlink("link", "../outside/secret")], Stat, b"link", Escapes),
    escape("a listing through a link", OUT_RELATIVE, List, b"out/folder", Escapes),
    escape("a working directory through a link", OUT_RELATIVE, WorkingDirectory, b"out/folder", Escapes),
    escape("a link with a slash behind it", &[Symlink("link", "../outside/folder")], List, b"link/", Escapes),
    case("an absolute link back into the root", &[File("f"), Symlink("l", "{base}/work/f")], Read, b"l", Escapes),

    // Writing through them.
    escape("a write through a link to a file", &[Symlink("link", "{base}/outside/secret")], Write, b"link", Escapes),
    escape("a write through a relative link", &[Symlink("link", "../outside/secret")], Write, b"link", Escapes),
    escape("a write through a link to a new file", &[Symlink("link", "{base}/outside/new")], Write, b"link", Escapes),
    escape("a write through a relative link to a new file", &[Symlink("link", "../outside/new")], Write, b"link", Escapes),
    escape("a write through links to a new file", &[Chain(3, "../outside/new")], Write, b"chain-1", Escapes),
    escape("a write through a link to a folder", OUT, Write, b"out/new", Escapes),
    escape("an archive's link, then a file through it", OUT_RELATIVE, WriteWithParents, b"out/made/payload", Escapes),
    escape("a write into a hard link", &[HardLink("twin", "{base}/outside/secret")], Write, b"twin", Inside),
    case("a write through a link to a new file inside", &[Symlink("link", "new")], Write, b"link", Inside),
    case("a write over a folder", &[Directory("d")], Write, b"d", IsDirectory),
    escape("folders made through a link", OUT, MakeDirectories, b"out/made", Escapes),
    case("folders made through a dangling link", &[Symlink("l", "../outside/new")], MakeDirectories, b"l/made", Escapes),

    // Removing and renaming through them.
    escape("a file removed through a link", OUT, Remove, b"out/secret", Escapes),
    escape("a tree removed through a link", OUT_RELATIVE, RemoveAll, b"out/folder", Escapes),
    case("a link to the outside removed", OUT, Remove, b"out", Inside),
    case("a link to the outside removed as a tree", OUT, RemoveAll, b"out", Inside),
    case("a link to the outside removed with a slash", OUT, RemoveAll, b"out/", NotDirectory),
    case("a tree of links removed", &[Directory("t/u"), Symlink("t/u/o", "{base}/outside"), Symlink("t/s", "../../outside/secret")], RemoveAll, b"t", Inside),
    case("the root itself removed", &[File("f")], RemoveAll, b"{base}/work", Invalid),
    case("the root by way of a folder removed", &[Directory("a")], RemoveAll, b"a/..", Invalid),
    escape("a file moved in through a link", OUT, RenameFrom, b"out/secret", Escapes),
    escape("a file moved in by dots", &[], RenameFrom, b"../outside/secret", Escapes),
    escape("a file moved out through a link", OUT_AND_MINE, RenameTo, b"out/planted", Escapes),
    escape("a file moved out by dots", OUT_AND_MINE, RenameTo, b"../outside/planted", Escapes),
    escape("a file moved over the secret", OUT_AND_MINE, RenameTo, b"out/secret", Escapes),

    // The kernel's magic links.
    escape("the root of a process", &[], Read, b"/proc/self/root{base}/outside/secret", Escapes),
    escape("a link to the root of a process", &[Symlink("magic", "/proc/self/root")], Read, b"magic{base}/outside/secret", Escapes),
    case("a link to a working directory", &[Symlink("magic", "/proc/self/cwd")], List, b"magic", Escapes),
    case("a link to a descriptor", &[Symlink("magic", "/proc/self/fd/0")], Write, b"magic", Escapes),

    // Things that are not files, and names that are hardly names.
    case("a FIFO read", &[Fifo("fifo")], Read, b"fifo", Special),
    case("a FIFO written", &[Fifo("fifo")], Write, b"fifo", Special),
    case("a FIFO read through a link", &[Fifo("fifo"), Symlink("link", "fifo")], Read, b"link", Special),
    case("a socket read", &[Socket("socket")], Read, b"socket", Special),
    case("a socket written", &[Socket("socket")], Write, b"socket", Special),
    case("a link to a device", &[Symlink("zero", "/dev/zero")], Read, b"zero", Escapes),
    case("a sparse file of a tebibyte", &[Sparse("sparse", 1 << 40)], Read, b"sparse", Inside),
    case("a folder read as a file", &[Directory("d")], Read, b"d", IsDirectory),
    case("40 links", &[File("end"), Chain(40, "end")], Read, b"chain-1", Inside),
    case("41 links", &[File("end"), Chain(41, "end")], Read, b"chain-1", TooManyLinks),
    case("41 links written", &[File("end"), Chain(41, "end")], Write, b"chain-1", TooManyLinks),
    case("a link to itself", &[Symlink("loop", "loop")], Read, b"loop", TooManyLinks),
    case("a link to itself written", &[Symlink("loop", "loop")], Write, b"loop", TooManyLinks),
    case("no name", &[], Read, b"", Invalid),
    case("a NUL in a name", &[File("f")], Read, b"f\0.txt", Invalid),
    case("a NUL after dots", &[], Write, b"../outside/new\0", Invalid),
    case("a path of 4,096 bytes", &[], Write, &[b'/'; 4096], TooLong),
    case("a name of 4,096 bytes", &[], Write, &[b'n'; 4096], TooLong),
    case("a name of 256 bytes", &[], MakeDirectories, &[b'n'; 256], TooLong),
    case("a newline in a name", &[], Write, b"a\nb", Inside),
    case("a name that is not UTF-8", &[], WriteWithParents, b"\xff\xfe/\x80", Inside),
    case("a name of dots", &[], Write, b"...", Inside),
];
