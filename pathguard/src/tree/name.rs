//! Rules for the names of entries and the targets of links.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use crate::limits::{NAME_SIZE_BYTES, PATH_SIZE_BYTES, TREE_DEPTH};
use crate::{Error, Result};

/// The components of an entry's path; none for the top itself.
pub(super) fn components(path: &[u8]) -> Result<Vec<OsString>> {
    if path.is_empty() {
        return Err(Error::Archive("an entry has no name"));
    }
    if path.contains(&0) {
        return Err(Error::Archive("a name contains a NUL byte"));
    }
    if path[0] == b'/' {
        return Err(Error::Archive("a path is absolute"));
    }
    if path.len() >= PATH_SIZE_BYTES {
        return Err(Error::NameTooLong);
    }
    let mut components = Vec::new();
    for name in path.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => return Err(Error::Archive("a path has a component `..`")),
            name if name.len() > NAME_SIZE_BYTES => return Err(Error::NameTooLong),
            name => components.push(OsStr::from_bytes(name).to_owned()),
        }
    }
    if components.len() > TREE_DEPTH { Err(Error::TooDeep) } else { Ok(components) }
}

/// The path made of components.
pub(super) fn joined(components: &[OsString]) -> Vec<u8> {
    components.join(OsStr::new("/")).as_bytes().to_vec()
}

/// True if a link in a directory `depth` levels below the top stays in the tree, whatever its other entries are.
///
/// The link may climb only at its beginning and no further than the top: its directory is a real one, so that this is reliable. From there on it goes
/// down, through links that fulfil the same condition.
pub(super) fn stays_inside(target: &[u8], depth: usize) -> bool {
    if target.is_empty() || target[0] == b'/' || target.contains(&0) || target.len() >= PATH_SIZE_BYTES {
        return false;
    }
    let names = target.split(|byte| *byte == b'/').filter(|name| !matches!(*name, b"" | b"."));
    let mut names = names.skip_while({
        let mut left = depth;
        move |name| {
            let climbs = *name == b".." && left > 0;
            left = left.saturating_sub(1);
            climbs
        }
    });
    names.all(|name| name != b"..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_refused() {
        let components = |path: &str| components(path.as_bytes()).map(|names| names.len());
        for (path, count) in [("a", 1), ("./a/", 1), ("a//b/.", 2), (".", 0), ("./", 0), ("...", 1)] {
            assert_eq!(components(path), Ok(count), "{path}");
        }
        for path in ["", "/", "/a", "..", "a/..", "a/../b", "../a", "./../a", "a\0b"] {
            assert!(matches!(components(path), Err(Error::Archive(_))), "{path:?}");
        }
        assert_eq!(components(&"n".repeat(256)), Err(Error::NameTooLong));
        assert_eq!(components(&"a/".repeat(2048)), Err(Error::NameTooLong));
        assert_eq!(components(&"a/".repeat(TREE_DEPTH)), Ok(TREE_DEPTH));
        assert_eq!(components(&"a/".repeat(TREE_DEPTH + 1)), Err(Error::TooDeep));
    }

    #[test]
    fn a_link_may_climb_to_the_top_and_then_go_down() {
        for (target, depth, stays) in [
            ("a", 0, true),
            ("a/b", 0, true),
            ("./a", 0, true),
            ("...", 0, true),
            ("..", 0, false),
            ("..", 1, true),
            (".././a", 1, true),
            ("../..", 1, false),
            ("../../a/b", 2, true),
            ("../../../a", 2, false),
            ("a/..", 2, false),
            ("../a/../b", 2, false),
            ("/etc", 9, false),
            ("", 1, false),
            ("a\0", 1, false),
        ] {
            assert_eq!(stays_inside(target.as_bytes(), depth), stays, "{target:?} at {depth}");
        }
    }
}
