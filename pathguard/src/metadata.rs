//! Metadata of a file.

use std::time::{Duration, SystemTime};

use rustix::fs::{FileType, Stat};

/// The kind of file that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link (only where links are not followed).
    Symlink,
    /// A FIFO, a socket or a device.
    Special,
}

/// Metadata of a file, directory, link or special file, taken from its handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// The kind: file, directory, link or special file.
    pub kind: Kind,
    /// The file's size in bytes; for a symbolic link the length of its target.
    pub size_bytes: u64,
    /// The file's permission bits with set-user-id, set-group-id and sticky (at most `0o7777`).
    pub mode: u32,
    /// When its content last changed.
    pub modified: SystemTime,
    /// The number of its hard links.
    pub hard_links: u64,
    /// The user that owns it.
    pub user_id: u32,
    /// The group that owns it.
    pub group_id: u32,
    /// The device it is on; with `inode` its identity.
    pub device: u64,
    /// The file's inode number on that device.
    pub inode: u64,
}

impl From<&Stat> for Metadata {
    // The widths of these fields differ between architectures.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fn from(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            _ => Kind::Special,
        };
        Self {
            kind,
            size_bytes: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            modified: system_time(stat.st_mtime as i64, stat.st_mtime_nsec as u32),
            hard_links: stat.st_nlink as u64,
            user_id: stat.st_uid,
            group_id: stat.st_gid,
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }
}

/// A point in time from the kernel's seconds, which are negative before 1970; out of range is 1970.
fn system_time(seconds: i64, nanoseconds: u32) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let start = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    start
        .and_then(|time| time.checked_add(Duration::from_nanos(nanoseconds.into())))
        .unwrap_or(SystemTime::UNIX_EPOCH)
}
