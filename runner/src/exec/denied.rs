//! Distinguishes "denied by the sandbox" from "failed", as far as that is possible from outside.

use std::io;
use std::path::{Path, PathBuf};

use crate::explain::{Entry, resolve};
use crate::limits::STDERR_TAIL_BYTES;

/// Words that programs print for errors that only confinement causes; in lower case, as `mount` and `sudo` print them. A
/// repository's configuration, and each directory leading to it, is busy when it cannot be replaced.
const CERTAIN: [&str; 4] = [
    "operation not permitted",
    "read-only file system",
    "could not write config file",
    "device or resource busy",
];

/// Words that they also print when a file's own mode denies access.
const AMBIGUOUS: &str = "permission denied";

/// The last bytes of a command's standard error.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let kept = &bytes[bytes.len().saturating_sub(STDERR_TAIL_BYTES)..];
        let surplus = (self.0.len() + kept.len()).saturating_sub(STDERR_TAIL_BYTES);
        self.0.drain(..surplus);
        self.0.extend_from_slice(kept);
    }

    /// True if it contains one of these words, which are in lower case.
    pub(super) fn tells(&self, words: &[&str]) -> bool {
        let small = String::from_utf8_lossy(&self.0).to_ascii_lowercase();
        words.iter().any(|words| small.contains(words))
    }

    /// True if it contains the kernel's words for a denial. `is_open` returns whether the sandbox allows everything with a path, which
    /// may be relative: then something else denied it.
    pub(super) fn tells_a_denial(&self, is_open: impl Fn(&Path) -> bool) -> bool {
        let text = String::from_utf8_lossy(&self.0);
        text.lines().any(|line| {
            let small = line.to_ascii_lowercase();
            if CERTAIN.iter().any(|words| small.contains(words)) {
                return true;
            }
            let Some(at) = small.find(AMBIGUOUS) else { return false };
            let paths = named_paths(line, at);
            paths.is_empty() || !paths.iter().all(|path| is_open(Path::new(path)))
        })
    }
}

/// The paths in a line, as programs write them: in quotes, or right before the words at `at`.
fn named_paths(line: &str, at: usize) -> Vec<&str> {
    let quoted = line.split(['\'', '"', '`', '\u{2018}', '\u{2019}']).skip(1).step_by(2);
    let quoted: Vec<&str> = quoted.filter(|text| !text.is_empty() && !text.contains(": ")).collect();
    if !quoted.is_empty() {
        return quoted;
    }
    let before = line.get(..at).unwrap_or_default().trim_end().trim_end_matches(':');
    let last = before.rsplit(": ").next().unwrap_or_default();
    last.split_whitespace().next_back().filter(|word| !word.is_empty()).into_iter().collect()
}

/// Paths that commands may use in every way, by the rules at the runner's start.
#[derive(Debug)]
pub(crate) struct OpenPlaces {
    entries: Vec<Entry>,
}

impl OpenPlaces {
    pub(crate) fn new(entries: Vec<Entry>) -> Self {
        Self { entries }
    }

    /// True if the sandbox denies nothing there: it exists, or is named with its directory.
    pub(super) fn hold(&self, directory: &Path, path: &Path) -> bool {
        let is_named_well = path.components().count() > 1;
        let path = resolve(&normal(&directory.join(path)));
        let nearest = self.entries.iter().filter(|entry| path.starts_with(&entry.path));
        let nearest = nearest.max_by_key(|entry| entry.path.components().count());
        (is_named_well || path.exists())
            && nearest.is_some_and(|entry| entry.read && entry.write && entry.run)
    }
}

/// The path without `.` and `..`, resolved lexically.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut path, component| {
        match component {
            std::path::Component::ParentDir => drop(path.pop()),
            std::path::Component::CurDir => {}
            other => path.push(other),
        }
        path
    })
}

/// True if the kernel refused a step of starting a command, as confinement does.
pub(super) fn by_kernel(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::ConfinePolicy;
    use crate::layers::Profile;

    fn tells(text: &str) -> bool {
        let mut tail = Tail::default();
        tail.push(text.as_bytes());
        tail.tells_a_denial(|path| path.starts_with("/work") || path == Path::new("script"))
    }

    #[test]
    fn words_cut_in_two_by_the_pipe_are_found() {
        let mut tail = Tail::default();
        tail.push(b"touch: cannot touch '/etc/x': Permis");
        assert!(!tail.tells_a_denial(|_| false));
        tail.push(b"sion denied\n");
        assert!(tail.tells_a_denial(|_| false));
    }

    #[test]
    fn words_in_any_case_are_found() {
        for words in [
            "mount: /mnt: permission denied.",
            "sudo: Operation Not Permitted",
            "READ-ONLY FILE SYSTEM",
            "error: could not write config file .git/config: Device or resource busy",
        ] {
            assert!(tells(words), "{words}");
        }
    }

    #[test]
    fn words_long_ago_do_not_count() {
        let mut tail = Tail::default();
        tail.push(b"Read-only file system");
        tail.push(&[b'x'; STDERR_TAIL_BYTES]);
        assert!(!tail.tells_a_denial(|_| false));
        assert_eq!(tail.0.len(), STDERR_TAIL_BYTES);
    }

    #[test]
    fn what_the_sandbox_lets_commands_do_was_denied_by_something_else() {
        for (line, denied) in [
            ("bash: line 1: script: Permission denied", false),
            ("sh: 1: /work/run.sh: Permission denied", false),
            ("cat: /etc/shadow: Permission denied", true),
            ("sh: 1: cannot create /etc/new: Permission denied", true),
            ("mv: cannot move '/work/a' to '/etc/a': Permission denied", true),
            ("PermissionError: [Errno 13] Permission denied: '/etc/x'", true),
            ("PermissionError: [Errno 13] Permission denied: '/work/x'", false),
            ("Error: EACCES: permission denied, open '/root/x'", true),
            ("unshare: failed: Permission denied", true),
            ("Permission denied", true),
            ("Permission denied (publickey)", true),
            ("chown: changing owner of '/work/x': Operation not permitted", true),
            ("\u{fffd}\u{130}: Permission denied", true),
        ] {
            assert_eq!(tells(line), denied, "{line}");
        }
    }

    #[test]
    fn a_place_is_open_by_where_it_is_and_not_by_how_it_is_written() {
        let directory = tempfile::Builder::new().tempdir_in("/var").unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("work/sub")).unwrap();
        std::fs::write(root.join("work/file"), "").unwrap();
        std::os::unix::fs::symlink("/etc/shadow", root.join("work/link")).unwrap();
        let policy = ConfinePolicy::detect(&root.join("work"), &root.join("state")).unwrap();
        let places = OpenPlaces::new(crate::explain::entries(&policy, Profile::Workspace, true));
        let work = root.join("work");
        for (path, open) in [
            ("file", true),
            ("./sub/../file", true),
            ("link", false),
            ("../x", false),
            ("none", false),
            ("./none", true),
        ] {
            let path = Path::new(path);
            // A word that is not a file may be any word.
            let expected = open && (path.components().count() > 1 || work.join(path).exists());
            assert_eq!(places.hold(&work, path), expected, "{}", path.display());
        }
        assert!(!places.hold(&work, Path::new("/etc/shadow")));
    }
}
