//! Malicious archives: their entries lead out, lie about their size, or are not files.

use super::super::arena::Plant::{self, Directory, File, Symlink};
use super::Attempt::{Mirror, Unpack};
use super::Expected::{Archive, Inside, IsDirectory, NotDirectory, TooLarge, TooLong};
use super::members::Member;
use super::{Case, attack, manners};

const NOTHING: &[Plant] = &[];
/// A path that leads out of the directory `to`, into which archives are unpacked.
const PLANTED: &str = "../../outside/planted";

/// A text in place of a size.
const SIGNED: [u8; 12] = *b"-0000000007\0";
const HEXADECIMAL: [u8; 12] = *b"0x0000000007";
const TEBIBYTE: [u8; 12] = *b"\x80\0\0\0\0\0\x01\0\0\0\0\0";

macro_rules! unpack {
    ($($member:expr),* $(,)?) => { Unpack(&[$($member),*]) };
}

#[rustfmt::skip]
pub(super) const CASES: &[Case] = &[
    // Names.
    attack("an entry with dots", NOTHING, unpack![Member::File(PLANTED)], b"to", Archive),
    attack("an entry with dots in a mirror", NOTHING, Mirror(&[Member::File(PLANTED)]), b"to", Archive),
    attack("an entry with dots after a folder", NOTHING, unpack![Member::Directory("d", 0o755), Member::File("d/../../../outside/planted")], b"to", Archive),
    attack("an entry with an absolute name", NOTHING, unpack![Member::File("{base}/outside/planted")], b"to", Archive),
    attack("a folder with dots", NOTHING, unpack![Member::Directory("../../outside/made", 0o755)], b"to", Archive),
    attack("a link with dots", NOTHING, unpack![Member::Symlink("../../outside/link", "secret")], b"to", Archive),
    attack("a name in two fields", NOTHING, unpack![Member::Prefixed("../../outside", "planted")], b"to", Archive),
    attack("a long name", NOTHING, unpack![Member::LongName(PLANTED), Member::File("x")], b"to", Archive),
    attack("a name in a record", NOTHING, unpack![Member::Records(&[("path", PLANTED)]), Member::File("x")], b"to", Archive),
    attack("an absolute name in a record", NOTHING, unpack![Member::Records(&[("path", "{base}/outside/planted")]), Member::File("x")], b"to", Archive),
    attack("two names in records", NOTHING, unpack![Member::Records(&[("path", "x"), ("path", PLANTED)]), Member::File("x")], b"to", Archive),
    attack("a name for all entries", NOTHING, unpack![Member::GlobalRecords(&[("path", PLANTED)]), Member::File("x")], b"to", Inside),
    attack("a sparse file's name", NOTHING, unpack![Member::Records(&[("GNU.sparse.major", "1"), ("GNU.sparse.name", PLANTED)]), Member::File("x")], b"to", Archive),
    manners("a NUL in a record", NOTHING, unpack![Member::Records(&[("path", "../../outside/planted\0.txt")]), Member::File("x")], b"to", Archive),
    manners("a NUL in a long name", NOTHING, unpack![Member::LongName("x\0/../y"), Member::File("x")], b"to", Archive),
    manners("an entry without a name", NOTHING, unpack![Member::File("")], b"to", Archive),
    manners("a file with the top's name", NOTHING, unpack![Member::File(".")], b"to", Archive),
    manners("a name for another system", NOTHING, unpack![Member::File("..\\..\\outside\\planted")], b"to", Inside),
    manners("a long name of 256 bytes", NOTHING, unpack![Member::LongName(LONG), Member::File("x")], b"to", TooLong),

    // A link, then an entry that goes through it.
    attack("a link, then a file through it", NOTHING, unpack![Member::Symlink("l", "../../outside"), Member::File("l/planted")], b"to", Archive),
    attack("an absolute link, then a file through it", NOTHING, unpack![Member::Symlink("l", "{base}/outside"), Member::File("l/planted")], b"to", Archive),
    attack("a link to a file, then the file", NOTHING, unpack![Member::Symlink("l", "../../outside/secret"), Member::File("l")], b"to", Archive),
    attack("a file, a link over it, and the file again", NOTHING, unpack![Member::File("f"), Member::Symlink("f", "../../outside/secret"), Member::File("f")], b"to", Archive),
    attack("a link over a folder, then a file through it", NOTHING, unpack![Member::Directory("d", 0o755), Member::Symlink("d", "../../outside"), Member::File("d/planted")], b"to", Archive),
    attack("two links, then a file through both", NOTHING, unpack![Member::Symlink("a", "b"), Member::Symlink("b", "../../outside"), Member::File("a/planted")], b"to", Archive),
    attack("a link that leads out by way of another", NOTHING, unpack![Member::Directory("d/e", 0o755), Member::Symlink("d/e/up", "../.."), Member::Symlink("l", "d/e/up/../../outside"), Member::File("l/planted")], b"to", Archive),
    attack("a link that winds", NOTHING, unpack![Member::Directory("d", 0o755), Member::Symlink("d/l", "../d/../../../outside"), Member::File("d/l/planted")], b"to", Archive),
    attack("a long link, then a file through it", NOTHING, unpack![Member::LongLink("../../outside"), Member::Symlink("l", "x"), Member::File("l/planted")], b"to", Archive),
    attack("a link in a record, then a file through it", NOTHING, unpack![Member::Records(&[("linkpath", "../../outside")]), Member::Symlink("l", "x"), Member::File("l/planted")], b"to", Archive),
    attack("a link, then a folder's mode through it", NOTHING, unpack![Member::Symlink("l", "../../outside/folder"), Member::Directory("l", 0o700)], b"to", Archive),
    attack("a link, then a file through it in a mirror", NOTHING, Mirror(&[Member::Symlink("l", "../../outside"), Member::File("l/planted")]), b"to", Archive),
    manners("a link that stays, then a file through it", NOTHING, unpack![Member::Directory("d", 0o755), Member::Symlink("l", "d"), Member::File("l/f")], b"to", NotDirectory),
    manners("a link that stays, replaced by its own name", NOTHING, unpack![Member::Symlink("l", "l"), Member::File("l")], b"to", Inside),

    // Second names, devices, rights.
    attack("a hard link, then its content", NOTHING, unpack![Member::HardLink("h", "../../outside/secret"), Member::File("h")], b"to", Archive),
    attack("a hard link with an absolute target, then its content", NOTHING, unpack![Member::HardLink("h", "{base}/outside/secret"), Member::File("h")], b"to", Archive),
    attack("a device", NOTHING, unpack![Member::Device("zero")], b"to", Archive),
    manners("a FIFO in an archive", NOTHING, unpack![Member::Fifo("fifo")], b"to", Archive),
    attack("a file that runs as its owner", NOTHING, unpack![Member::Mode("run", 0o6755)], b"to", Inside),
    attack("a folder that gives its group away", NOTHING, unpack![Member::Directory("d", 0o3777)], b"to", Inside),

    // Sizes.
    attack("a size in a record that hides an entry", NOTHING, unpack![Member::SizeInRecord(PLANTED)], b"to", Inside),
    manners("a size in a header that hides an entry", NOTHING, unpack![Member::SizeInHeader(PLANTED)], b"to", Archive),
    manners("a negative size", NOTHING, unpack![Member::Size("x", [0xff; 12])], b"to", Archive),
    manners("a size with a sign", NOTHING, unpack![Member::Size("x", SIGNED)], b"to", Archive),
    manners("a size that is no number", NOTHING, unpack![Member::Size("x", HEXADECIMAL)], b"to", Archive),
    manners("a size that fills its field", NOTHING, unpack![Member::Size("x", [b'7'; 12])], b"to", Archive),
    manners("a size of a tebibyte", NOTHING, unpack![Member::Size("x", TEBIBYTE)], b"to", TooLarge),
    manners("the largest size", NOTHING, unpack![Member::Records(&[("size", "18446744073709551615")]), Member::File("x")], b"to", TooLarge),
    manners("a size in a record that does not fit", NOTHING, unpack![Member::Records(&[("size", "18446744073709551616")]), Member::File("x")], b"to", Archive),
    manners("a negative size in a record", NOTHING, unpack![Member::Records(&[("size", "-1")]), Member::File("x")], b"to", Archive),
    manners("a folder with content", NOTHING, unpack![Member::Full(b'5', "d/")], b"to", Archive),
    manners("a link with content", NOTHING, unpack![Member::Full(b'2', "l")], b"to", Archive),
    manners("a sparse entry", NOTHING, unpack![Member::Kind(b'S', "s")], b"to", Archive),
    manners("an entry of an unknown kind", NOTHING, unpack![Member::Kind(b'Z', "z")], b"to", Archive),
    manners("an archive that ends early", NOTHING, unpack![Member::File("x"), Member::End], b"to", Archive),

    // Existing entries.
    manners("a file over a folder", &[Directory("to/d/e")], unpack![Member::File("d")], b"to", IsDirectory),
    manners("a link over a folder", &[Directory("to/d/e")], unpack![Member::Symlink("d", "e")], b"to", IsDirectory),
    manners("a folder over a file", &[Directory("to"), File("to/f")], unpack![Member::Directory("f", 0o755)], b"to", NotDirectory),
    manners("a file over a folder in a mirror", &[Directory("to/d/e")], Mirror(&[Member::File("d")]), b"to", Inside),
    attack("a file over a folder of links in a mirror", &[Directory("to/d"), Symlink("to/d/out", "{base}/outside")], Mirror(&[Member::File("d")]), b"to", Inside),
];

/// A name of 256 bytes.
const LONG: &str = match str::from_utf8(&[b'n'; 256]) {
    Ok(name) => name,
    Err(_) => "",
};
