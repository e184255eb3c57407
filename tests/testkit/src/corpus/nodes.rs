//! Things that are not files, oversized files, and odd names.

use super::super::arena::Plant::{
    self, Deep, Device, Directory, Disk, Fifo, File, Many, SetId, Socket, Sparse, Symlink,
};
use super::Attempt::{
    Download, Find, List, MakeDirectories, Pack, Read, RemoveAll, RenameFrom, Replace, Search, Stat, Unpack,
    WorkingDirectory, Write, WriteIfMatch, WriteWithParents,
};
use super::Expected::{
    Escapes, Inside, Invalid, IsDirectory, Missing, NotDirectory, Special, TooLarge, TooLong,
};
use super::members::Member;
use super::{Case, attack, manners};

const FIFO: &[Plant] = &[Fifo("fifo")];
const TEBIBYTE: u64 = 1 << 40;

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    // Opening a FIFO blocks until its other end is opened.
    attack("a FIFO read", FIFO, Read, b"fifo", Special),
    attack("a FIFO read through a link", &[Fifo("fifo"), Symlink("link", "fifo")], Read, b"link", Special),
    attack("a FIFO written", FIFO, Write, b"fifo", Special),
    attack("a FIFO written on a condition", FIFO, WriteIfMatch, b"fifo", Special),
    attack("a FIFO as a temporary file", &[Fifo("f.tmp")], Replace, b"f", Inside),
    attack("a FIFO downloaded to", FIFO, Download, b"fifo", Special),
    attack("a FIFO searched", FIFO, Search, b"fifo", Special),
    attack("a FIFO in a tree that is searched", FIFO, Search, b".", Inside),
    attack("a FIFO in a tree that is packed", FIFO, Pack, b".", Inside),
    attack("a FIFO in the place of an archive's file", FIFO, Unpack(&[Member::File("fifo")]), b".", Inside),
    attack("a FIFO moved, then read", FIFO, RenameFrom, b"fifo", Inside),
    attack("a FIFO as the rules of what is ignored", &[Fifo(".gitignore"), File("f")], Search, b".", Inside),
    manners("a FIFO as a folder", FIFO, Read, b"fifo/x", NotDirectory),
    manners("a FIFO as a working directory", FIFO, WorkingDirectory, b"fifo", NotDirectory),
    manners("a FIFO removed", FIFO, RemoveAll, b"fifo", Inside),

    // Sockets and devices.
    manners("a socket read", &[Socket("socket")], Read, b"socket", Special),
    manners("a socket written", &[Socket("socket")], Write, b"socket", Special),
    manners("a socket packed", &[Socket("socket")], Pack, b".", Inside),
    attack("a link to an endless device", &[Symlink("zero", "/dev/zero")], Read, b"zero", Escapes),
    manners("a link to a device written", &[Symlink("null", "/dev/null")], Write, b"null", Escapes),
    attack("an endless device", &[Device("zero")], Read, b"zero", Special),
    attack("an endless device searched", &[Device("zero")], Search, b".", Inside),
    attack("an endless device packed", &[Device("zero")], Pack, b".", Inside),
    manners("an endless device written", &[Device("zero")], Write, b"zero", Special),
    manners("an endless device on a condition", &[Device("zero")], WriteIfMatch, b"zero", Special),
    manners("a disk read", &[Disk("disk")], Read, b"disk", Special),
    manners("a disk written", &[Disk("disk")], Write, b"disk", Special),
    attack("a file that runs as its owner, written", &[SetId("run")], Write, b"run", Inside),

    // Too much.
    manners("a sparse tebibyte read", &[Sparse("sparse", TEBIBYTE)], Read, b"sparse", Inside),
    manners("a sparse tebibyte statted", &[Sparse("sparse", TEBIBYTE)], Stat, b"sparse", Inside),
    manners("a sparse tebibyte searched", &[Sparse("sparse", TEBIBYTE)], Search, b".", Inside),
    manners("a sparse tebibyte packed", &[Sparse("sparse", TEBIBYTE)], Pack, b".", TooLarge),
    manners("a sparse tebibyte as rules", &[Sparse(".gitignore", TEBIBYTE), File("f")], Find, b".", Inside),
    manners("10,000 files listed", &[Many("many", 10_000)], List, b"many", Inside),
    manners("10,000 files found", &[Many("many", 10_000)], Find, b".", Inside),
    manners("1,000 files packed", &[Many("many", 1_000)], Pack, b"many", Inside),
    manners("1,000 files removed", &[Many("many", 1_000)], RemoveAll, b"many", Inside),
    manners("300 folders in one another removed", &[Deep("deep", 300)], RemoveAll, b"deep", Inside),
    manners("200 folders in one another packed", &[Deep("deep", 200)], Pack, b".", Inside),
    manners("200 folders in one another searched", &[Deep("deep", 200)], Find, b".", Inside),

    // One kind of entry in place of another.
    manners("a folder read as a file", &[Directory("d")], Read, b"d", IsDirectory),
    manners("a folder written as a file", &[Directory("d")], Write, b"d", IsDirectory),
    manners("a file listed as a folder", &[File("f")], List, b"f", NotDirectory),
    manners("a file made as a folder", &[File("f")], MakeDirectories, b"f", NotDirectory),
    manners("a file on the way to another", &[File("f")], Read, b"f/x", NotDirectory),
    manners("a file on the way to a new one", &[File("f")], WriteWithParents, b"f/x", NotDirectory),
    manners("a file packed as a folder", &[File("f")], Pack, b"f", NotDirectory),
    manners("a file unpacked into", &[File("f")], Unpack(&[Member::File("x")]), b"f", NotDirectory),
    manners("a file read with a slash after it", &[File("f")], Read, b"f/", NotDirectory),
    manners("a file written with a slash after it", &[File("f")], Write, b"f/", IsDirectory),
    manners("a file removed with a slash after it", &[File("f")], RemoveAll, b"f/", NotDirectory),

    // Names.
    manners("no name", &[], Read, b"", Invalid),
    manners("a NUL in a name", &[File("f")], Read, b"f\0.txt", Invalid),
    manners("a NUL after dots", &[], Write, b"../outside/new\0", Invalid),
    manners("a path of 4,096 bytes", &[], Write, &[b'/'; 4096], TooLong),
    manners("a path of 4,095 slashes", &[], List, &[b'/'; 4095], Escapes),
    manners("a name of 4,096 bytes", &[], Write, &[b'n'; 4096], TooLong),
    manners("a name of 256 bytes", &[], MakeDirectories, &[b'n'; 256], TooLong),
    manners("a name of 255 bytes", &[], Write, &[b'n'; 255], Inside),
    manners("a name of 255 bytes that is missing", &[], Read, &[b'n'; 255], Missing),
    manners("a newline in a name", &[], Write, b"a\nb", Inside),
    manners("a header in a name", &[File("a\"\r\nX-Evil: 1")], Read, b"a\"\r\nX-Evil: 1", Inside),
    manners("a terminal's escape in a name", &[], Write, b"\x1b]0;evil\x07", Inside),
    manners("a name that is not UTF-8", &[], WriteWithParents, b"\xff\xfe/\x80", Inside),
    manners("a name of dots", &[], Write, b"...", Inside),
    manners("a name like an option", &[], Write, b"-rf", Inside),
    manners("doubled slashes", &[Directory("d"), File("d/f")], Read, b".//d///f", Inside),
];
