//! The grammar of paths: what can be decided from the bytes alone, before any system call.
//!
//! Nothing here decides whether a path stays below the root: only the resolution does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use crate::limits::{NAME_SIZE_BYTES, PATH_SIZE_BYTES};
use crate::{Error, Result};

/// Makes `path` relative to the root, whose own absolute names are `roots`.
pub(crate) fn relative<'path>(path: &'path Path, roots: [&Path; 2]) -> Result<&'path Path> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.is_empty() {
        return Err(Error::InvalidPath("it is empty; the workspace itself is `.`"));
    }
    if bytes.contains(&0) {
        return Err(Error::InvalidPath("it contains a NUL byte"));
    }
    if bytes.len() >= PATH_SIZE_BYTES
        || bytes.split(|&byte| byte == b'/').any(|name| name.len() > NAME_SIZE_BYTES)
    {
        return Err(Error::NameTooLong);
    }
    if bytes[0] != b'/' {
        return Ok(path);
    }
    roots.into_iter().find_map(|root| strip_root(bytes, root)).ok_or(Error::EscapesRoot)
}

/// Takes the components of `root` from the front of an absolute path; `None` if they differ.
fn strip_root<'path>(path: &'path [u8], root: &Path) -> Option<&'path Path> {
    let mut rest = trim_start(path);
    for component in root.components() {
        match component {
            Component::Normal(name) => {
                rest = rest.strip_prefix(name.as_bytes())?;
                if !rest.is_empty() && rest[0] != b'/' {
                    return None; // `/work-evil` is not below `/work`
                }
                rest = trim_start(rest);
            }
            Component::ParentDir => return None, // only its canonical form gives its position
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    Some(Path::new(OsStr::from_bytes(if rest.is_empty() { b"." } else { rest })))
}

/// Skips leading slashes and `.` components.
fn trim_start(mut path: &[u8]) -> &[u8] {
    loop {
        path = match path {
            [b'/', rest @ ..] | [b'.', b'/', rest @ ..] => rest,
            [b'.'] => &[],
            _ => return path,
        };
    }
}

/// A relative path, split for operations that act on a name in a directory.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Split<'path> {
    /// The path without its last component; `.` if nothing is left.
    pub(crate) parent: &'path Path,
    /// The last component: never empty, `.` or with a slash; it may be `..`.
    pub(crate) name: &'path OsStr,
    /// True if the path ended in `/` or `/.`, so that it must name a directory.
    pub(crate) must_be_directory: bool,
}

/// Splits off the last component; a path that names the root itself has none.
pub(crate) fn split(relative: &Path) -> Result<Split<'_>> {
    let mut bytes = relative.as_os_str().as_bytes();
    let whole = bytes.len();
    while let Some(shorter) = bytes.strip_suffix(b"/").or_else(|| bytes.strip_suffix(b"/.")) {
        bytes = shorter;
    }
    let start = bytes.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (parent, name) = bytes.split_at(start);
    if name.is_empty() || name == b"." {
        return Err(Error::InvalidPath("it names the workspace itself"));
    }
    let parent = if parent.is_empty() { b"." } else { parent };
    Ok(Split {
        parent: Path::new(OsStr::from_bytes(parent)),
        name: OsStr::from_bytes(name),
        must_be_directory: bytes.len() < whole,
    })
}

/// Every prefix of a relative path that ends in a component, with that component, shortest first.
pub(crate) fn prefixes(relative: &Path) -> impl Iterator<Item = (&Path, &OsStr)> {
    let bytes = relative.as_os_str().as_bytes();
    let ends = (1..=bytes.len())
        .filter(move |&end| bytes[end - 1] != b'/' && bytes.get(end).is_none_or(|&byte| byte == b'/'));
    ends.map(move |end| {
        let prefix = &bytes[..end];
        let start = prefix.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
        (Path::new(OsStr::from_bytes(prefix)), OsStr::from_bytes(&prefix[start..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relative_to_work(path: &str) -> Result<&str> {
        let roots = [Path::new("/work"), Path::new("/real/work")];
        relative(Path::new(path), roots).map(|path| path.to_str().unwrap())
    }

    #[test]
    fn an_absolute_path_beneath_either_name_of_the_root_becomes_relative() {
        for (given, expected) in [
            ("/work/a/b", "a/b"),
            ("//work/./a/", "a/"),
            ("/work", "."),
            ("/work/", "."),
            ("/work/.", "."),
            ("/real/work/a", "a"),
            ("/work/../work/a", "../work/a"),
            ("/work/.hidden", ".hidden"),
            ("a/../b", "a/../b"),
        ] {
            assert_eq!(relative_to_work(given), Ok(expected), "{given}");
        }
    }

    #[test]
    fn an_absolute_path_elsewhere_escapes() {
        for given in ["/", "/work-evil/x", "/wor", "/etc/passwd", "/real", "/other/../work/a", "/Work/a"] {
            assert_eq!(relative_to_work(given), Err(Error::EscapesRoot), "{given}");
        }
    }

    #[test]
    fn a_root_given_with_dots_is_known_by_its_canonical_form_alone() {
        let roots = [Path::new("/a/../work"), Path::new("/work")];
        assert_eq!(relative(Path::new("/work/x"), roots), Ok(Path::new("x")));
        for given in ["/a/work/x", "/a/../work/x"] {
            assert_eq!(relative(Path::new(given), roots), Err(Error::EscapesRoot), "{given}");
        }
    }

    #[test]
    fn every_absolute_path_is_beneath_the_file_systems_root() {
        let roots = [Path::new("/"), Path::new("/")];
        assert_eq!(relative(Path::new("/etc/x"), roots), Ok(Path::new("etc/x")));
        assert_eq!(relative(Path::new("/"), roots), Ok(Path::new(".")));
    }

    #[test]
    fn lengths_are_limited_at_their_edge() {
        let longest_name = "n".repeat(NAME_SIZE_BYTES);
        assert!(relative_to_work(&longest_name).is_ok());
        assert_eq!(relative_to_work(&format!("{longest_name}n")), Err(Error::NameTooLong));
        let longest_path = "a/".repeat(PATH_SIZE_BYTES / 2);
        assert!(relative_to_work(&longest_path[..PATH_SIZE_BYTES - 1]).is_ok());
        assert_eq!(relative_to_work(&longest_path), Err(Error::NameTooLong));
    }

    #[test]
    fn the_last_component_is_split_off_and_a_trailing_slash_remembered() {
        for (given, parent, name, must_be_directory) in [
            ("a", ".", "a", false),
            ("a/b", "a/", "b", false),
            ("a/b/", "a/", "b", true),
            ("./a/.//", "./", "a", true),
            ("..", ".", "..", false),
            ("...", ".", "...", false),
        ] {
            let expected = Split { parent: Path::new(parent), name: OsStr::new(name), must_be_directory };
            assert_eq!(split(Path::new(given)).as_ref(), Ok(&expected), "{given}");
        }
        for root in [".", "./", "./.", ".//."] {
            assert!(split(Path::new(root)).is_err(), "{root}");
        }
    }

    #[test]
    fn prefixes_grow_by_one_component() {
        let found: Vec<_> = prefixes(Path::new("a//b/../c/")).map(|(prefix, _)| prefix).collect();
        assert_eq!(found, ["a", "a//b", "a//b/..", "a//b/../c"].map(Path::new));
    }
}
