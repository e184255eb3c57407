//! Telling "denied by the sandbox" from "failed", as far as that can be told from outside.

use std::io;

use crate::limits::STDERR_TAIL_BYTES;

/// What programs print for the errors that confinement answers with, in whichever case: `mount` and `sudo` begin small.
const WORDS: [&[u8]; 3] = [b"permission denied", b"operation not permitted", b"read-only file system"];

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

    /// Whether the kernel's words for a denial are in it.
    pub(super) fn tells_a_denial(&self) -> bool {
        WORDS.iter().any(|words| self.0.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words)))
    }
}

/// Whether the kernel refused a step of starting a command, as confinement does.
pub(super) fn by_kernel(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cut_in_two_by_the_pipe_are_found() {
        let mut tail = Tail::default();
        tail.push(b"touch: cannot touch '/etc/x': Permis");
        assert!(!tail.tells_a_denial());
        tail.push(b"sion denied\n");
        assert!(tail.tells_a_denial());
    }

    #[test]
    fn words_in_any_case_are_found() {
        for words in
            ["mount: /mnt: permission denied.", "sudo: Operation Not Permitted", "READ-ONLY FILE SYSTEM"]
        {
            let mut tail = Tail::default();
            tail.push(words.as_bytes());
            assert!(tail.tells_a_denial(), "{words}");
        }
    }

    #[test]
    fn words_long_ago_do_not_count() {
        let mut tail = Tail::default();
        tail.push(b"Read-only file system");
        tail.push(&[b'x'; STDERR_TAIL_BYTES]);
        assert!(!tail.tells_a_denial());
        assert_eq!(tail.0.len(), STDERR_TAIL_BYTES);
    }
}
