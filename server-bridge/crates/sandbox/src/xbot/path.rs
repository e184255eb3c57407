//! Paths in the workspace of an xbot runner, as far as they can be checked from here.
//!
//! Its own guard compares strings, so `/ws_evil` passes as inside `/ws`. Here paths are compared by component after `.` and
//! `..` are resolved, and the sent path is relative to the workspace. Symlinks there are not visible from here.

use proto::ErrorKind;
use proto::limits::MAX_PATH_BYTES;

use crate::error::SandboxError;

/// The workspace of a runner, as it was reported at the registration.
#[derive(Debug)]
pub(super) struct Workspace {
    /// `None` if the runner was started with a relative path: only it can resolve that.
    root: Option<Vec<String>>,
}

impl Workspace {
    pub(super) fn new(path: &str) -> Self {
        let root = path.starts_with('/').then(|| components(Vec::new(), path).unwrap_or_default());
        Self { root }
    }

    /// The path relative to the workspace, `.` for the workspace itself.
    ///
    /// Fails with `escapes_workspace`, or if JSON cannot represent it.
    pub(super) fn relative(&self, path: &[u8]) -> Result<String, SandboxError> {
        let parts = self.parts(path)?;
        Ok(if parts.is_empty() { ".".to_owned() } else { parts.join("/") })
    }

    /// The relative path of an entry that is about to be removed or renamed: never the workspace itself.
    pub(super) fn relative_entry(&self, path: &[u8]) -> Result<String, SandboxError> {
        match self.relative(path)?.as_str() {
            "." => Err(invalid("the workspace itself cannot be removed or renamed")),
            entry => Ok(entry.to_owned()),
        }
    }

    /// The directory as an absolute path, `None` for the workspace itself, which is the default.
    pub(super) fn directory(&self, path: &[u8]) -> Result<Option<String>, SandboxError> {
        let parts = self.parts(path)?;
        if parts.is_empty() {
            return Ok(None);
        }
        let Some(root) = &self.root else {
            let message = "this runner names its workspace by a relative path, so commands run in the workspace only; \
                           start it with an absolute one";
            return Err(SandboxError::Remote { kind: ErrorKind::InvalidCwd, message: message.to_owned() });
        };
        Ok(Some(root.iter().chain(&parts).fold(String::new(), |path, part| path + "/" + part)))
    }

    fn parts(&self, path: &[u8]) -> Result<Vec<String>, SandboxError> {
        if path.len() > MAX_PATH_BYTES {
            let message = format!("a path can have at most {MAX_PATH_BYTES} bytes");
            return Err(SandboxError::Remote { kind: ErrorKind::NameTooLong, message });
        }
        let Ok(path) = std::str::from_utf8(path) else {
            return Err(invalid("this runner's dialect carries only paths that are UTF-8"));
        };
        if path.is_empty() || path.contains('\0') {
            return Err(invalid("a path must not be empty or contain a NUL byte"));
        }
        if !path.starts_with('/') {
            return components(Vec::new(), path).ok_or_else(escapes);
        }
        let root = self.root.as_deref().ok_or_else(escapes)?;
        let whole = components(Vec::new(), path).ok_or_else(escapes)?;
        whole.strip_prefix(root).map(<[_]>::to_vec).ok_or_else(escapes)
    }
}

/// The names in a path with `.` and `..` resolved; `None` if it leads above its start.
fn components(mut parts: Vec<String>, path: &str) -> Option<Vec<String>> {
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name.to_owned()),
        }
    }
    Some(parts)
}

fn invalid(message: &str) -> SandboxError {
    SandboxError::Remote { kind: ErrorKind::InvalidPath, message: message.to_owned() }
}

pub(super) fn escapes() -> SandboxError {
    let message = "the path leads out of the workspace".to_owned();
    SandboxError::Remote { kind: ErrorKind::EscapesWorkspace, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(result: Result<String, SandboxError>) -> &'static str {
        result.unwrap_err().kind()
    }

    #[test]
    fn paths_that_stay_inside_become_relative() {
        let workspace = Workspace::new("/home/dev/ws/");
        for (path, expected) in [
            ("a.txt", "a.txt"),
            (".", "."),
            ("./x//y/", "x/y"),
            ("x/../y", "y"),
            ("/home/dev/ws", "."),
            ("/home/dev/ws/a", "a"),
            ("//home/dev/other/../ws/a", "a"),
        ] {
            assert_eq!(workspace.relative(path.as_bytes()).unwrap(), expected);
        }
        assert_eq!(workspace.directory(b"sub/dir").unwrap().unwrap(), "/home/dev/ws/sub/dir");
        assert_eq!(workspace.directory(b".").unwrap(), None);
        assert_eq!(Workspace::new("/").relative(b"/etc/hosts").unwrap(), "etc/hosts");
    }

    #[test]
    fn paths_that_its_own_guard_lets_out_are_refused_here() {
        let workspace = Workspace::new("/home/dev/ws");
        for path in [
            "/home/dev/ws_evil/x",
            "../ws_evil/x",
            "//home/dev/ws/../ws_evil/x",
            "/etc/passwd",
            "dir/../../out/secret",
            "..",
            "/..",
            "/home/dev",
        ] {
            assert_eq!(kind(workspace.relative(path.as_bytes())), "escapes_workspace", "{path}");
            assert!(workspace.directory(path.as_bytes()).is_err());
        }
    }

    #[test]
    fn paths_that_cannot_be_said_are_refused() {
        let workspace = Workspace::new("/ws");
        for path in [&b""[..], b"a\0b", b"\xff"] {
            assert_eq!(kind(workspace.relative(path)), "invalid_path");
        }
        assert_eq!(kind(workspace.relative(&[b'x'; MAX_PATH_BYTES + 1])), "name_too_long");
        for path in [&b"."[..], b"/ws", b"a/.."] {
            assert_eq!(kind(workspace.relative_entry(path)), "invalid_path");
        }
    }

    #[test]
    fn relative_workspaces_take_relative_paths_only() {
        let workspace = Workspace::new("ws_rel");
        assert_eq!(workspace.relative(b"a.txt").unwrap(), "a.txt");
        assert_eq!(kind(workspace.relative(b"/anything")), "escapes_workspace");
        assert_eq!(workspace.directory(b"sub").unwrap_err().kind(), "invalid_cwd");
    }
}
