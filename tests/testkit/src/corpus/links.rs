//! Planted symbolic and hard links, with every operation led through them.

use super::super::arena::Plant::{self, Chain, Directory, File, HardLink, Symlink};
use super::Attempt::{
    Download, Find, List, MakeDirectories, Mirror, Pack, Read, Remove, RemoveAll, RenameFrom, RenameTo,
    Replace, Search, Stat, Unpack, WorkingDirectory, Write, WriteIfMatch, WriteWithParents,
};
use super::Expected::{Escapes, Inside, IsDirectory, NotDirectory, TooManyLinks};
use super::members::Member;
use super::{Case, attack, manners};

const OUT: &[Plant] = &[Symlink("out", "{base}/outside")];
const OUT_RELATIVE: &[Plant] = &[Symlink("out", "../outside")];
const OUT_AND_MINE: &[Plant] = &[Symlink("out", "../outside"), File("mine")];
const SECRET: &[Plant] = &[Symlink("link", "{base}/outside/secret")];
const SECRET_RELATIVE: &[Plant] = &[Symlink("link", "../outside/secret")];
const NEW: &[Plant] = &[Symlink("link", "{base}/outside/new")];
const NEW_RELATIVE: &[Plant] = &[Symlink("link", "../outside/new")];
const FOLDER: &[Plant] = &[Directory("to"), Symlink("to/out", "../../outside/folder")];
const TWIN: &[Plant] = &[HardLink("twin", "outside/secret")];
const PAYLOAD: &[Member] = &[Member::File("planted")];

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    // Reading.
    attack("a link to a file", SECRET, Read, b"link", Escapes),
    attack("a relative link to a file", SECRET_RELATIVE, Read, b"link", Escapes),
    attack("a file through a link to a folder", OUT, Read, b"out/secret", Escapes),
    attack("a file through a link to the parent", &[Symlink("up", "..")], Read, b"up/outside/secret", Escapes),
    attack("a file through a link to the file system's root", &[Symlink("top", "/")], Read, b"top{base}/outside/secret", Escapes),
    attack("a link to a link", &[Symlink("a", "b"), Symlink("b", "../outside/secret")], Read, b"a", Escapes),
    attack("a link in a folder", &[Directory("d"), Symlink("d/l", "../../outside/secret")], Read, b"d/l", Escapes),
    attack("a link that leaves and would come back", &[File("f"), Symlink("l", "../outside/../{name}-evil/secret")], Read, b"l", Escapes),
    attack("dots after a link", &[Directory("d"), Symlink("d/l", "{base}/outside/folder")], Read, b"d/l/../secret", Escapes),
    attack("a chain of links that ends outside", &[Chain(9, "../outside/secret")], Read, b"chain-1", Escapes),
    attack("19 links that end outside", &[Chain(19, "../outside/secret")], Read, b"chain-1", Escapes),
    attack("a stat through a link", OUT, Stat, b"out/secret", Escapes),
    attack("a stat of a link", SECRET_RELATIVE, Stat, b"link", Escapes),
    attack("a listing through a link", OUT_RELATIVE, List, b"out/folder", Escapes),
    attack("a listing of a link with a slash after it", &[Symlink("link", "../outside/folder")], List, b"link/", Escapes),
    attack("a listing of a link with a dot after it", &[Symlink("link", "../outside/folder")], List, b"link/.", Escapes),
    attack("a working directory through a link", OUT_RELATIVE, WorkingDirectory, b"out/folder", Escapes),
    attack("names found through a link", OUT_RELATIVE, Find, b"out", Escapes),
    attack("names found in a tree with a link", OUT, Find, b".", Inside),
    attack("lines searched through a link", OUT_RELATIVE, Search, b"out", Escapes),
    attack("lines searched in a linked file", SECRET, Search, b"link", Escapes),
    attack("lines searched in a tree with a link", SECRET, Search, b".", Inside),
    attack("rules of what is ignored through a link", &[Symlink(".gitignore", "../outside/secret")], Search, b".", Inside),
    attack("a linked folder packed", OUT_RELATIVE, Pack, b"out", Escapes),
    attack("a tree with a link packed", SECRET, Pack, b".", Inside),
    manners("a link to nothing outside answers the same", &[Symlink("link", "{base}/outside/none")], Read, b"link", Escapes),
    manners("a relative link to nothing outside too", &[Symlink("link", "../outside/none")], Read, b"link", Escapes),
    manners("an absolute link back into the root", &[File("f"), Symlink("l", "{root}/f")], Read, b"l", Escapes),
    manners("39 links", &[File("end"), Chain(39, "end")], Read, b"chain-1", Inside),
    manners("41 links", &[File("end"), Chain(41, "end")], Read, b"chain-1", TooManyLinks),
    manners("41 links written", &[File("end"), Chain(41, "end")], Write, b"chain-1", TooManyLinks),
    manners("41 links that end outside", &[Chain(41, "../outside/secret")], Read, b"chain-1", TooManyLinks),
    manners("a link to itself", &[Symlink("loop", "loop")], Read, b"loop", TooManyLinks),
    manners("a link to itself written", &[Symlink("loop", "loop")], Write, b"loop", TooManyLinks),
    manners("two links to one another listed", &[Symlink("a", "b"), Symlink("b", "a")], List, b"a", TooManyLinks),

    // Writing.
    attack("a write through a link to a file", SECRET, Write, b"link", Escapes),
    attack("a write through a relative link", SECRET_RELATIVE, Write, b"link", Escapes),
    attack("a write through a link to a new file", NEW, Write, b"link", Escapes),
    attack("a write through a relative link to a new file", NEW_RELATIVE, Write, b"link", Escapes),
    attack("a write through links to a new file", &[Chain(3, "../outside/new")], Write, b"chain-1", Escapes),
    attack("a write through a link to a folder", OUT, Write, b"out/new", Escapes),
    attack("a write with parents through a link", OUT_RELATIVE, WriteWithParents, b"out/made/payload", Escapes),
    attack("a write on a condition through a link", SECRET, WriteIfMatch, b"link", Escapes),
    attack("a write that meets a planted temporary link", &[Symlink("f.tmp", "../outside/secret")], Replace, b"f", Inside),
    attack("a write that meets a planted temporary link to nothing", &[Symlink("f.tmp", "../outside/new")], Replace, b"f", Inside),
    attack("a write that meets a planted temporary twin", &[HardLink("f.tmp", "outside/secret")], Replace, b"f", Inside),
    manners("a write through a link to a new file inside", &[Symlink("link", "new")], Write, b"link", Inside),
    manners("a write through a link to a folder inside", &[Directory("d"), Symlink("link", "d")], Write, b"link", IsDirectory),
    manners("a write through a link that ends in a slash", &[Symlink("link", "new/")], Write, b"link", IsDirectory),
    attack("folders made through a link", OUT, MakeDirectories, b"out/made", Escapes),
    manners("folders made through a dangling link", NEW_RELATIVE, MakeDirectories, b"link/made", Escapes),
    attack("a download through a link", SECRET, Download, b"link", Escapes),
    attack("a download through a link to a new file", NEW, Download, b"link", Escapes),
    attack("a download through a link to a folder", OUT_RELATIVE, Download, b"out/made/new", Escapes),

    // Removing and moving.
    attack("a file removed through a link", OUT, Remove, b"out/secret", Escapes),
    attack("a tree removed through a link", OUT_RELATIVE, RemoveAll, b"out/folder", Escapes),
    manners("a link to the outside removed", OUT, Remove, b"out", Inside),
    manners("a link to the outside removed as a tree", OUT, RemoveAll, b"out", Inside),
    manners("a link to the outside removed with a slash", OUT, RemoveAll, b"out/", NotDirectory),
    manners("a link to the outside removed with a dot", OUT, RemoveAll, b"out/.", NotDirectory),
    attack("a tree with links removed", &[Directory("t/u"), Symlink("t/u/o", "{base}/outside"), Symlink("t/s", "../../outside/secret")], RemoveAll, b"t", Inside),
    attack("a file moved in through a link", OUT, RenameFrom, b"out/secret", Escapes),
    attack("a link moved, then read", SECRET, RenameFrom, b"link", Inside),
    attack("a link that leads out once it is moved", &[Directory("d"), Symlink("d/l", "../outside/secret")], RenameFrom, b"d/l", Inside),
    attack("a file moved out through a link", OUT_AND_MINE, RenameTo, b"out/planted", Escapes),
    attack("a file moved over the secret", OUT_AND_MINE, RenameTo, b"out/secret", Escapes),
    manners("a file moved over a link", OUT_AND_MINE, RenameTo, b"out", Inside),
    manners("a file moved onto a link with a slash", OUT_AND_MINE, RenameTo, b"out/", NotDirectory),

    // Unpacking over existing entries.
    attack("an archive unpacked through a link", OUT_RELATIVE, Unpack(PAYLOAD), b"out", Escapes),
    attack("an archive unpacked below a link", OUT_RELATIVE, Unpack(PAYLOAD), b"out/made", Escapes),
    attack("an archive mirrored through a link", OUT_RELATIVE, Mirror(PAYLOAD), b"out/folder", Escapes),
    attack("a file of an archive through a link", FOLDER, Unpack(&[Member::File("out/planted")]), b"to", NotDirectory),
    attack("a file of a mirror through a link", FOLDER, Mirror(&[Member::File("out/planted")]), b"to", Inside),
    attack("a file of an archive onto a link", SECRET, Unpack(&[Member::File("link")]), b".", Inside),
    attack("a file of an archive onto a link to nothing", NEW, Unpack(&[Member::File("link")]), b".", Inside),
    attack("a folder's mode through a link", FOLDER, Unpack(&[Member::Directory("out", 0o700)]), b"to", NotDirectory),
    attack("a folder's mode through a link in a mirror", FOLDER, Mirror(&[Member::Directory("out", 0o700)]), b"to", Inside),
    attack("a mirror that removes a link", FOLDER, Mirror(PAYLOAD), b"to", Inside),

    // Hard links.
    attack("a write into a hard link", TWIN, Write, b"twin", Inside),
    attack("a file of an archive onto a hard link", TWIN, Unpack(&[Member::File("twin")]), b".", Inside),
    attack("a mode of an archive onto a hard link", TWIN, Unpack(&[Member::Mode("twin", 0o600)]), b".", Inside),
    attack("a write with parents into a hard link", TWIN, WriteWithParents, b"twin", Inside),
    manners("a hard link read, which is allowed by default", TWIN, Read, b"twin", Inside),
    manners("a hard link removed", TWIN, Remove, b"twin", Inside),
    manners("a mirror that removes a hard link", TWIN, Mirror(PAYLOAD), b".", Inside),
];
