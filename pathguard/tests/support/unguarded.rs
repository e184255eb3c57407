//! The attempts of the corpus, made as a careless program would: it joins the path to the root, uses the result, and
//! trusts an archive's content.

use std::ffi::OsStr;
use std::io::{Read, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};

use super::arena::{Arena, INSIDE};
use super::corpus::Attempt;
use super::corpus::members::archive;
use super::guarded::seen_size;

/// The depth at which a careless program that follows its own links in circles is stopped.
const DEPTH: usize = 8;

/// Makes the attempt and returns what it saw.
pub(crate) fn attempt(arena: &Arena, attempt: Attempt, path: &Path) -> Result<String> {
    let root = arena.root();
    let joined = root.join(path);
    let done = |result: Result<()>| result.map(|()| String::new());
    match attempt {
        Attempt::Read => read(&joined),
        Attempt::Write => done(std::fs::write(joined, b"payload")),
        Attempt::WriteWithParents | Attempt::Download => {
            std::fs::create_dir_all(joined.parent().unwrap())?;
            done(std::fs::write(joined, b"payload"))
        }
        Attempt::WriteIfMatch => match read(&joined)? {
            seen if seen.as_bytes() == INSIDE => done(std::fs::write(joined, b"payload")),
            seen => Ok(seen),
        },
        Attempt::Replace => {
            let temporary = PathBuf::from([joined.as_os_str(), OsStr::new(".tmp")].join(OsStr::new("")));
            std::fs::write(&temporary, b"payload")?;
            done(std::fs::rename(temporary, joined))
        }
        Attempt::Stat => Ok(seen_size(std::fs::metadata(joined)?.len())),
        Attempt::List | Attempt::WorkingDirectory => {
            std::fs::read_dir(joined)?.map(|entry| Ok(format!("{:?} ", entry?.file_name()))).collect()
        }
        Attempt::MakeDirectories => done(std::fs::create_dir_all(joined)),
        Attempt::Remove => done(std::fs::remove_file(joined)),
        Attempt::RemoveAll => done(remove_all(&joined)),
        Attempt::RenameFrom => {
            std::fs::rename(joined, root.join("stolen"))?;
            read(&root.join("stolen"))
        }
        Attempt::RenameTo => done(std::fs::rename(root.join("mine"), joined)),
        Attempt::Find => walk(&joined, false, DEPTH),
        Attempt::Search | Attempt::Pack => walk(&joined, true, DEPTH),
        Attempt::Unpack(members) => done(unpack(&joined, &archive(members, arena))),
        Attempt::Mirror(members) => {
            if let Ok(entries) = joined.read_dir() {
                entries.flatten().try_for_each(|entry| remove_all(&entry.path()))?;
            }
            done(unpack(&joined, &archive(members, arena)))
        }
    }
}

fn read(path: &Path) -> Result<String> {
    let mut seen = Vec::new();
    std::fs::File::open(path)?.take(4096).read_to_end(&mut seen)?;
    Ok(String::from_utf8_lossy(&seen).into_owned())
}

/// Removes the content of a directory, wherever that is.
fn remove_all(path: &Path) -> Result<()> {
    if !path.is_dir() {
        return std::fs::remove_file(path);
    }
    path.read_dir()?.try_for_each(|entry| remove_all(&entry?.path()))?;
    match std::fs::remove_dir(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => std::fs::remove_file(path),
        result => result,
    }
}

fn walk(path: &Path, contents: bool, depth: usize) -> Result<String> {
    if !path.is_dir() {
        return if contents { read(path) } else { Ok(String::new()) };
    }
    let mut seen = String::new();
    for entry in path.read_dir()? {
        let entry = entry?;
        seen.push_str(&entry.file_name().to_string_lossy());
        if depth > 0 {
            seen.push_str(&walk(&entry.path(), contents, depth - 1)?);
        }
    }
    Ok(seen)
}

/// Reads an archive as vulnerable programs did: sizes only from the headers, names and links from anywhere.
fn unpack(top: &Path, mut archive: &[u8]) -> Result<()> {
    std::fs::create_dir_all(top)?;
    let (mut name, mut link, mut for_all) = (None, None, None);
    while let Some((block, rest)) = archive.split_at_checked(512) {
        if block.iter().all(|byte| *byte == 0) {
            break;
        }
        let digits = String::from_utf8_lossy(&block[124..135]).into_owned();
        let size = usize::from_str_radix(&digits, 8).unwrap_or(0).min(rest.len());
        let content = &rest[..size];
        archive = &rest[size.next_multiple_of(512).min(rest.len())..];
        let told = |key: &str| record(content, key);
        match block[156] {
            b'x' => {
                name = told("GNU.sparse.name").or(told("path"));
                link = told("linkpath");
                continue;
            }
            b'g' => for_all = told("path"),
            b'L' => name = Some(content.to_vec()),
            b'K' => link = Some(content.to_vec()),
            kind => {
                let prefixed = [text(&block[345..500]), b"/", text(&block[..100])].concat();
                let short = if block[345] == 0 { text(&block[..100]).to_vec() } else { prefixed };
                let name = name.take().or_else(|| for_all.clone()).unwrap_or(short);
                let link = link.take().unwrap_or_else(|| text(&block[157..257]).to_vec());
                let mode = u32::from_str_radix(&String::from_utf8_lossy(&block[100..107]), 8).unwrap_or(0);
                entry(kind, &top.join(OsStr::from_bytes(&name)), OsStr::from_bytes(&link), mode, content)?;
            }
        }
    }
    Ok(())
}

fn entry(kind: u8, path: &Path, link: &OsStr, mode: u32, content: &[u8]) -> Result<()> {
    match kind {
        b'5' => std::fs::create_dir_all(path)?,
        b'3' => return Ok(mknodat(CWD, path, FileType::CharacterDevice, Mode::RUSR, makedev(1, 5))?),
        b'1' | b'2' => {
            let _ = std::fs::remove_file(path);
            let _ = std::fs::remove_dir(path);
            let beside = path.parent().unwrap().join(link);
            return if kind == b'1' { std::fs::hard_link(beside, path) } else { symlink(link, path) };
        }
        _ => std::fs::write(path, content)?,
    }
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

/// The last record of this name.
fn record(records: &[u8], key: &str) -> Option<Vec<u8>> {
    let start = format!(" {key}=");
    let lines = records.split(|byte| *byte == b'\n').rev();
    let found = lines.filter_map(|line| {
        let at = line.windows(start.len()).position(|window| window == start.as_bytes())?;
        Some(line[at + start.len()..].to_vec())
    });
    found.into_iter().next()
}

fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}
