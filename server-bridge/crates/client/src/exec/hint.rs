//! Hints for people: what to do about common causes of a command's failure.

use std::ffi::OsString;

use bytes::Bytes;

use super::Seconds;
use crate::failure::Failure;
use crate::limits::HINT_TAIL_BYTES;

/// Characters that only a shell understands, and those that separate words.
const SHELL_CHARACTERS: &[char] =
    &['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '~', '"', '\'', ' ', '\t', '\n'];

/// The hint for a person about a command that was denied access; a program would mistake it for the command's own output.
const DENIED: &str = "the sandbox denied this command access to something; on the runner's machine `sandbridge-runner explain PATH` \
                      shows why; start the runner with --allow-read, --allow-write or --allow-git-config to allow it";

/// The hint if git could not write a repository's configuration.
const GIT_CONFIG_DENIED: &str = "the sandbox keeps commands from changing a repository's configuration and hooks, which git on \
                                 that machine obeys; start the runner with --allow-git-config to allow it";

/// Git's messages about a configuration that it cannot write, in lower case.
const GIT_CONFIG_WORDS: [&str; 2] = ["could not write config file", "could not lock config file"];

/// Adds a hint to the failure of a shell line that was given as one word: the command that runs the line.
pub(super) fn with_shell_line(failure: Failure, command: &[OsString]) -> Failure {
    match command {
        [line] if failure.kind == "command_not_found" => match line.to_str() {
            Some(line) if line.contains(SHELL_CHARACTERS) => {
                let quoted = format!("'{}'", line.replace('\'', r"'\''"));
                let message = format!(
                    "{}; to run a shell command line: sandbridge exec -- sh -c {quoted}",
                    failure.message
                );
                Failure { message, ..failure }
            }
            Some(_) | None => failure,
        },
        _ => failure,
    }
}

/// The message for a command whose time limit has run out.
pub(super) fn timed_out(limit: Option<Seconds>) -> String {
    match limit {
        Some(Seconds(seconds)) => format!(
            "the command ran for {seconds} s, its time limit, and was stopped; allow more time with --timeout, or omit the option"
        ),
        None => "the command ran until its time limit and was stopped".to_owned(),
    }
}

/// The hint for a command that the sandbox denied access, given the end of its standard error.
pub(super) fn denied(tail: &Tail) -> &'static str {
    if tail.names_git_config() { GIT_CONFIG_DENIED } else { DENIED }
}

/// The last bytes of a command's standard error.
#[derive(Debug, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    pub(super) fn push(&mut self, bytes: &Bytes) {
        let kept = &bytes[bytes.len().saturating_sub(HINT_TAIL_BYTES)..];
        let surplus = (self.0.len() + kept.len()).saturating_sub(HINT_TAIL_BYTES);
        self.0.drain(..surplus);
        self.0.extend_from_slice(kept);
    }

    fn names_git_config(&self) -> bool {
        let small = String::from_utf8_lossy(&self.0).to_ascii_lowercase();
        GIT_CONFIG_WORDS.iter().any(|words| small.contains(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn not_found(command: &[&str]) -> String {
        let command: Vec<OsString> = command.iter().map(Into::into).collect();
        with_shell_line(Failure::other("command_not_found", "there is no program"), &command).message
    }

    #[test]
    fn a_shells_line_given_as_one_word_is_answered_with_the_command_that_runs_it() {
        let message = not_found(&["ls | head"]);
        assert_eq!(
            message,
            "there is no program; to run a shell command line: sandbridge exec -- sh -c 'ls | head'"
        );
        assert!(not_found(&["echo 'a b'"]).ends_with(r"sh -c 'echo '\''a b'\'''"));
        for plain in [&["lss"][..], &["lss", "|", "head"], &["./a-b_c.sh"]] {
            assert_eq!(not_found(plain), "there is no program", "{plain:?}");
        }
        let other = with_shell_line(Failure::other("offline", "away"), &["ls | head".into()]);
        assert_eq!(other.message, "away");
    }

    #[test]
    fn a_time_limit_that_ran_out_is_named_with_what_to_do() {
        let words = timed_out(Some(Seconds(1.5)));
        assert!(words.contains("1.5 s") && words.contains("--timeout"), "{words}");
        assert!(!timed_out(None).contains("--timeout"), "attach has no such option");
    }

    #[test]
    fn a_configuration_that_git_cannot_write_names_the_flag_that_allows_it() {
        let mut tail = Tail::default();
        assert_eq!(denied(&tail), DENIED);
        tail.push(&Bytes::from_static(b"error: could not write con"));
        tail.push(&Bytes::from_static(b"fig file .git/config: Device or resource busy\n"));
        assert!(denied(&tail).contains("--allow-git-config") && denied(&tail) != DENIED);
        tail.push(&Bytes::from(vec![b'x'; 2 * HINT_TAIL_BYTES]));
        assert_eq!((denied(&tail), tail.0.len()), (DENIED, HINT_TAIL_BYTES));
    }
}
