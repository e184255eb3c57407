//! The two sides of a copy.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use crate::failure::Failure;

/// A file on a runner.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remote {
    /// The place, unless it is the active one.
    pub(super) on: Option<String>,
    /// The path there; bytes, since names need not be UTF-8.
    pub(super) path: Vec<u8>,
}

/// The source and the target.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// A copy to a runner.
    Up { from: PathBuf, to: Remote },
    /// A copy from a runner.
    Down { from: Remote, to: PathBuf },
}

#[derive(Debug, PartialEq, Eq)]
enum Side {
    Local(PathBuf),
    Remote(Remote),
}

impl Route {
    /// Parses both sides; `on` names the place of a side that begins with a colon.
    pub(super) fn parse(source: &OsStr, target: &OsStr, on: Option<&str>) -> Result<Self, Failure> {
        match (Side::parse(source, on)?, Side::parse(target, on)?) {
            (Side::Local(from), Side::Remote(to)) => Ok(Self::Up { from, to }),
            (Side::Remote(from), Side::Local(to)) => Ok(Self::Down { from, to }),
            (Side::Local(_), Side::Local(_)) => Err(Failure::usage(
                "neither the source nor the target is on a runner; write one of them as NAME:PATH or :PATH",
            )),
            (Side::Remote(_), Side::Remote(_)) => Err(Failure::usage(
                "the source and the target are both on runners; copy to a local file first, then from there",
            )),
        }
    }
}

impl Remote {
    /// True if its name implies a directory.
    pub(super) fn is_directory_by_name(&self) -> bool {
        self.path.ends_with(b"/") || self.path == b"." || self.path.ends_with(b"/.")
    }
}

impl Side {
    /// The text before the first colon names a place, unless a slash comes earlier.
    fn parse(text: &OsStr, on: Option<&str>) -> Result<Self, Failure> {
        let bytes = text.as_bytes();
        let colon = bytes.iter().position(|&byte| byte == b':');
        let slash = bytes.iter().position(|&byte| byte == b'/');
        let at = match (colon, slash) {
            (Some(colon), Some(slash)) if slash < colon => None,
            (colon, _) => colon,
        };
        let Some(at) = at else {
            if bytes.is_empty() {
                return Err(Failure::usage(
                    "the source or the target is empty; `.` is the current directory",
                ));
            }
            return Ok(Self::Local(PathBuf::from(text)));
        };
        let (name, path) = (&bytes[..at], &bytes[at + 1..]);
        let path = if path.is_empty() { b".".to_vec() } else { path.to_vec() };
        let on = if name.is_empty() { on.map(str::to_owned) } else { Some(place(name, text, on)?) };
        Ok(Self::Remote(Remote { on, path }))
    }
}

/// Checks the name of a place before the colon.
fn place(name: &[u8], whole: &OsStr, on: Option<&str>) -> Result<String, Failure> {
    let is_plain =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.' | b'-');
    let name = match std::str::from_utf8(name) {
        Ok(text) if name.iter().all(is_plain) => text,
        Ok(_) | Err(_) => {
            let whole = whole.to_string_lossy();
            let message = format!(
                "{whole:?} does not begin with a runner's name; for a local file write \"./{whole}\""
            );
            return Err(Failure::usage(message));
        }
    };
    if on.is_some_and(|on| on != name) {
        return Err(Failure::usage(format!("--on and {name} are two different places; leave one out")));
    }
    Ok(name.to_owned())
}

/// The last component of a path, or nothing if it has none.
pub(super) fn base_name(path: &[u8]) -> OsString {
    let trimmed = path.iter().rposition(|&byte| byte != b'/').map_or(&[][..], |end| &path[..=end]);
    let begin = trimmed.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    OsString::from_vec(trimmed[begin..].to_vec())
}

/// The file `name` in the remote directory `path`.
pub(super) fn inside(path: &[u8], name: &OsStr) -> Vec<u8> {
    let mut inside = path.to_vec();
    if !inside.ends_with(b"/") {
        inside.push(b'/');
    }
    inside.extend_from_slice(name.as_bytes());
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote(on: Option<&str>, path: &[u8]) -> Side {
        Side::Remote(Remote { on: on.map(str::to_owned), path: path.to_vec() })
    }

    #[test]
    fn sides_are_told_apart() {
        for (text, expected) in [
            ("laptop:a/b:c", remote(Some("laptop"), b"a/b:c")),
            (":a", remote(Some("work"), b"a")),
            (":", remote(Some("work"), b".")),
            (":/home/me/a", remote(Some("work"), b"/home/me/a")),
            ("a", Side::Local("a".into())),
            ("./a:b", Side::Local("./a:b".into())),
            ("/tmp/a:b", Side::Local("/tmp/a:b".into())),
        ] {
            let on = if text.starts_with(':') { Some("work") } else { None };
            assert_eq!(Side::parse(OsStr::new(text), on).unwrap(), expected, "{text}");
        }
        assert_eq!(Side::parse(OsStr::new("__docker__:x"), None).unwrap(), remote(Some("__docker__"), b"x"));
        let odd = OsStr::from_bytes(b":a\xff");
        assert_eq!(Side::parse(odd, None).unwrap(), remote(None, b"a\xff"));
    }

    #[test]
    fn what_makes_no_sense_is_bad_usage() {
        for (source, target, on) in [
            ("a", "b", None),
            ("a:x", "b:y", None),
            ("Laptop:x", "y", None),
            ("laptop:x", "y", Some("work")),
            ("", ":x", None),
        ] {
            let failure = Route::parse(OsStr::new(source), OsStr::new(target), on).unwrap_err();
            assert_eq!(failure.code, 2, "{source} {target}");
        }
    }

    #[test]
    fn names_are_taken_from_paths() {
        for (path, name) in [("a/b", "b"), ("b", "b"), ("a/b//", "b"), ("/", ""), ("", "")] {
            assert_eq!(base_name(path.as_bytes()), name, "{path}");
        }
        assert_eq!(inside(b"a", OsStr::new("b")), b"a/b");
        assert_eq!(inside(b"a/", OsStr::new("b")), b"a/b");
    }
}
