//! The free space of a file system, and whether it is low.

use std::path::Path;

use crate::bounds::Bytes;
use crate::limits::{FULL_BYTES, LOW_DISK_BYTES, LOW_DISK_PART};

/// The space of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// The file system's total size.
    pub(crate) size: Bytes,
    /// Free space for an ordinary user.
    pub(crate) left: Bytes,
    /// True if no more files can be created.
    has_no_files: bool,
}

impl Space {
    /// The space of the file system of `place`; `None` if it cannot be determined.
    pub(crate) fn of(place: &Path) -> Option<Self> {
        let found = rustix::fs::statvfs(place).ok()?;
        let bytes = |blocks: u64| Bytes(blocks.saturating_mul(found.f_frsize));
        let has_no_files = found.f_files > 0 && found.f_favail == 0;
        Some(Self { size: bytes(found.f_blocks), left: bytes(found.f_bavail), has_no_files })
    }

    /// True if next to nothing is free.
    pub(crate) fn is_full(&self) -> bool {
        self.has_no_files || self.left.0 < FULL_BYTES
    }

    /// True if so little is free that a person should know.
    fn is_low(&self) -> bool {
        self.is_full() || self.left.0 < (self.size.0 / LOW_DISK_PART).min(LOW_DISK_BYTES)
    }
}

/// Warnings about the disks that commands write to: the workspace's, and that of the machine's temporary files.
pub(crate) fn warnings(workspace: &Path) -> Vec<String> {
    let temporary = std::env::temp_dir();
    let places = [("the workspace", workspace), ("temporary files", temporary.as_path())];
    let low = places.into_iter().filter_map(|(what, place)| {
        let space = Space::of(place).filter(Space::is_low)?;
        let (left, size) = (in_mebibytes(space.left), in_mebibytes(space.size));
        Some(format!(
            "the disk of {what} ({}) has {left} of {size} left: make room before commands fail",
            place.display()
        ))
    });
    low.collect()
}

fn in_mebibytes(bytes: Bytes) -> String {
    format!("{} MiB", bytes.0 >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_is_a_small_part_and_not_much_by_itself() {
        let space =
            |size: u64, left: u64| Space { size: Bytes(size), left: Bytes(left), has_no_files: false };
        for (size, left, is_low, is_full) in [
            (100 << 30, 50 << 30, false, false),
            (100 << 30, 1 << 30, true, false),
            (1_000 << 30, 40 << 30, false, false),
            (1 << 30, 100 << 20, false, false),
            (1 << 30, 40 << 20, true, false),
            (1 << 30, 1 << 10, true, true),
        ] {
            let found = space(size, left);
            assert_eq!((found.is_low(), found.is_full()), (is_low, is_full), "{size} {left}");
        }
        let without_files = Space { has_no_files: true, ..space(1 << 40, 1 << 39) };
        assert!(without_files.is_low() && without_files.is_full());
    }

    #[test]
    fn a_place_that_is_not_there_is_no_warning() {
        assert_eq!(Space::of(Path::new("/no/such/place")), None);
        assert!(!warnings(Path::new("/no/such/place")).iter().any(|warning| warning.contains("/no/such")));
    }
}
