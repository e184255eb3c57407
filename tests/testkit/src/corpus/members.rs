//! The parts of an archive, and how it is put together.

use super::super::arena::Arena;
use super::super::tar::{Tar, pax};

/// The content of files in archives.
const PAYLOAD: &[u8] = b"payload";

/// One piece of an archive; the arena's placeholders are replaced in names and targets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Member {
    File(&'static str),
    /// A file with this mode.
    Mode(&'static str, u32),
    Directory(&'static str, u32),
    /// The path, and the target's text.
    Symlink(&'static str, &'static str),
    /// The path, and the other name of the file.
    HardLink(&'static str, &'static str),
    /// An endless device.
    Device(&'static str),
    Fifo(&'static str),
    /// A file whose name is split over two fields.
    Prefixed(&'static str, &'static str),
    /// Records for the next entry.
    Records(&'static [(&'static str, &'static str)]),
    /// Records for all entries.
    GlobalRecords(&'static [(&'static str, &'static str)]),
    /// The next entry's name, and its link's target, in GNU's form.
    LongName(&'static str),
    LongLink(&'static str),
    /// A file whose size is in a record, while its header says 0; its content looks like an entry of this name.
    SizeInRecord(&'static str),
    /// A file whose size is in its header, while a record says 0; its content looks like an entry of this name.
    SizeInHeader(&'static str),
    /// A file with seven bytes, and with this text in the field for its size.
    Size(&'static str, [u8; 12]),
    /// An entry of any kind without content.
    Kind(u8, &'static str),
    /// An entry with content that is not a file.
    Full(u8, &'static str),
    /// Ends the archive early, without its end blocks.
    End,
}

/// Puts an archive together.
pub fn archive(members: &[Member], arena: &Arena) -> Vec<u8> {
    let text = |text: &str| arena.expand(text.as_bytes()).to_str().unwrap().to_owned();
    let records = |records: &[(&str, &str)]| {
        let told: Vec<_> = records.iter().map(|(key, value)| (*key, text(value))).collect();
        pax(&told.iter().map(|(key, value)| (*key, value.as_str())).collect::<Vec<_>>())
    };
    let looks_like = |name: &str| Tar::new().file(&text(name), PAYLOAD).bytes();
    let mut tar = Tar::new();
    for member in members {
        let start = tar.length();
        tar = match *member {
            Member::File(path) => tar.file(&text(path), PAYLOAD),
            Member::Mode(path, mode) => tar.file(&text(path), PAYLOAD).mode(start, mode),
            Member::Directory(path, mode) => tar.directory(&text(path)).mode(start, mode),
            Member::Symlink(path, target) => tar.symlink(&text(path), &text(target)),
            Member::HardLink(path, other) => tar.entry(b'1', &text(path), &text(other), 0, b""),
            Member::Device(path) => {
                tar.entry(b'3', &text(path), "", 0, b"").patched(start, 329, b"0000001\x000000005")
            }
            Member::Fifo(path) => tar.entry(b'6', &text(path), "", 0, b""),
            Member::Prefixed(prefix, name) => {
                tar.file(name, PAYLOAD).patched(start, 345, text(prefix).as_bytes())
            }
            Member::Records(told) => tar.records(&records(told)),
            Member::GlobalRecords(told) => {
                let told = records(told);
                tar.entry(b'g', "records", "", told.len() as u64, &told)
            }
            Member::LongName(name) => {
                let name = text(name);
                tar.entry(b'L', "././@LongLink", "", name.len() as u64, name.as_bytes())
            }
            Member::LongLink(target) => {
                let target = text(target);
                tar.entry(b'K', "././@LongLink", "", target.len() as u64, target.as_bytes())
            }
            Member::SizeInRecord(name) => {
                let content = looks_like(name);
                let size = content.len().to_string();
                tar.records(&pax(&[("size", &size)])).entry(b'0', "sized", "", 0, &content)
            }
            Member::SizeInHeader(name) => {
                let content = looks_like(name);
                tar.records(&pax(&[("size", "0")])).file("sized", &content)
            }
            Member::Size(path, field) => tar.file(&text(path), PAYLOAD).patched(start, 124, &field),
            Member::Kind(kind, path) => tar.entry(kind, &text(path), "", 0, b""),
            Member::Full(kind, path) => tar.entry(kind, &text(path), "", PAYLOAD.len() as u64, PAYLOAD),
            Member::End => return tar.bytes(),
        };
    }
    tar.end()
}
