//! The reason why a command failed because of a shortage: the kernel's own message names neither the limit nor its owner.

use std::path::Path;

use super::denied::Tail;
use crate::bounds::LimitsBy;
use crate::group;
use crate::space::Space;

/// Words that programs print when a file system is full, in lower case.
const FULL: &[&str] = &["no space left on device", "disk quota exceeded"];

/// Words that they print when no process or thread was started.
const REFUSED: &[&str] = &[
    "cannot fork",
    "can't fork",
    "fork failed",
    "resource temporarily unavailable",
    "can't start new thread",
    "cannot create thread",
    "unable to create native thread",
];

/// Words that they print when a process may open no more files.
const TOO_MANY_FILES: &[&str] = &["too many open files"];

/// The commands' own temporary file systems.
const TEMPORARY: [&str; 2] = ["/tmp", "/dev/shm"];

/// A line about the shortage, for a failed command; `was_refused` is true if the kernel counted processes that it refused to
/// start.
pub(super) fn note(tail: Option<&Tail>, was_refused: bool, workspace: &Path) -> Option<String> {
    let tells = |words: &[&str]| tail.is_some_and(|tail| tail.tells(words));
    if was_refused || !group::counts_refused() && tells(REFUSED) {
        return processes();
    }
    if tells(FULL) {
        return full(workspace);
    }
    tells(TOO_MANY_FILES).then(|| {
        "sandbridge: a process of a command reached its limit of open files (--open-files)\n".to_owned()
    })
}

/// The line for a command that was killed for lack of memory: a signal alone does not explain it.
pub(super) fn memory() -> String {
    format!("sandbridge: killed: {}\n", used_up())
}

/// The line for a command during which processes were killed for lack of memory: possibly its own, without its shell
/// reporting it.
pub(super) fn memory_meanwhile() -> String {
    format!("sandbridge: while this ran, processes of commands were killed: {}\n", used_up())
}

fn used_up() -> String {
    let limit = group::memory().map_or_else(String::new, |memory| memory.to_string());
    format!("the commands of this runner used up the {limit} of memory that they share (--memory)")
}

/// The line for a command that was refused processes.
pub(super) fn processes() -> Option<String> {
    let most = group::grouped(group::processes()?);
    let by = group::processes_by(None).map_or("", LimitsBy::describe);
    Some(format!(
        "sandbridge: while this ran, all commands together reached the limit of {most} processes (--pids; {by})\n"
    ))
}

fn full(workspace: &Path) -> Option<String> {
    let full =
        |place: &str| Some((place.to_owned(), Space::of(Path::new(place)).filter(Space::is_full)?.size));
    if let Some((place, size)) = TEMPORARY.into_iter().find_map(full) {
        return Some(format!(
            "sandbridge: {place} is full: it holds {size}, which count as memory (--memory); remove what is not needed there\n"
        ));
    }
    Space::of(workspace).filter(Space::is_full).map(|_| {
        "sandbridge: the disk that the workspace is on is full; make room on that machine\n".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        let mut tail = Tail::default();
        tail.push(text.as_bytes());
        note(Some(&tail), false, Path::new("/"))
    }

    #[test]
    fn an_error_that_is_no_shortage_gets_no_note() {
        for text in ["", "No such file or directory", "fork: a tool to eat with", "space left"] {
            assert_eq!(told(text), None, "{text}");
        }
        assert_eq!(note(None, false, Path::new("/")), None);
    }

    #[test]
    fn too_many_open_files_name_the_option() {
        let told = told("cat: x: Too many open files").unwrap();
        assert!(told.contains("--open-files"), "{told}");
    }
}
