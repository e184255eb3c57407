//! A shell on a terminal, as a reader has it in front of them: comments, quotes and variables mean what they mean to bash.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use tests::terminal::Terminal;

use super::ADVICE;
use super::table::Answer;
use super::world::World;

/// The timeout for each step.
const PATIENCE: Duration = Duration::from_secs(60);
/// The timeout for the prompt after an interrupt.
const PROMPT_PATIENCE: Duration = Duration::from_secs(2);
/// The interval of checks of what is shown.
const LOOKS_EVERY: Duration = Duration::from_millis(10);
/// The character before and after the exit code in the prompt.
const MARK: &str = "\u{1e}";
/// The set-up of the shell. Without an echo, the text on the terminal is only what programs print.
const SET_UP: &str = r#"
stty -echo
# The first value of a field in JSON.
first() { grep -o "\"$1\": *\"\?[^\",}]*" | head -n 1 | sed 's/.*: *"\?//'; }
# Runs a command until it prints a text.
until_shown() { local text=$1; shift; until "$@" | grep -q -- "$text"; do sleep 0.1; done; }
as_bob() { SANDBRIDGE_HOME=$BOB sandbridge "$@"; }
PS1='\036$?\036'
PS2=
"#;

/// The end of a command.
pub(super) struct Ended {
    pub(super) code: i32,
    /// The text that it printed.
    pub(super) shown: String,
}

pub(super) struct Shell(Terminal);

impl Shell {
    /// Starts alice's shell.
    pub(super) fn start(world: &World) -> Self {
        let set_up = world.home().join("bashrc");
        fs::write(&set_up, SET_UP).unwrap();
        let mut bash = Command::new("setsid");
        bash.args(["--ctty", "--wait", "bash", "--noprofile", "--noediting", "--rcfile"])
            .arg(set_up)
            .args(["-i"])
            .current_dir(world.desk())
            .env_clear()
            .envs(world.variables());
        let mut shell = Self(Terminal::start(bash, 50, 200));
        shell.waits("the first prompt", |terminal| terminal.shows(MARK).then_some(()));
        shell.ended();
        shell
    }

    /// Runs a line and gives these answers, each when its text is shown.
    pub(super) fn runs(&mut self, line: &str, answers: &[(String, Answer)], place: &str) -> Ended {
        self.0.types(format!("{line}\n"));
        let mut seen = String::new();
        for (text, answer) in answers {
            let what = format!("{place}: {line}\nneither shows {text:?} nor ends");
            let is_shown = self.waits(&what, |terminal| {
                if terminal.shows(text) { Some(true) } else { terminal.shows(MARK).then_some(false) }
            });
            if !is_shown {
                let Ended { code, shown } = self.ended();
                panic!("{place}: {line}\nended with {code} without {text:?}:\n{seen}{shown}\n{ADVICE}");
            }
            seen.push_str(&self.0.sees(text));
            match answer {
                Answer::Types(keys) => self.0.types(keys),
                Answer::Opens => {
                    let rest = self.0.sees("\n");
                    let url = format!("{text}{}", rest.trim_end());
                    tests::http::text(&url);
                    seen.push_str(&rest);
                }
            }
        }
        let what = format!("{place}: {line}\ndoes not end");
        self.waits(&what, |terminal| terminal.shows(MARK).then_some(()));
        let Ended { code, shown } = self.ended();
        Ended { code, shown: seen + &shown }
    }

    /// Reads the prompt, which is shown.
    fn ended(&mut self) -> Ended {
        let shown = self.0.sees(MARK);
        let code = self.0.sees(MARK);
        let code = code.trim_end_matches(MARK).parse().expect("an exit code");
        Ended { code, shown: shown.trim_end_matches(MARK).replace('\r', "") }
    }

    /// Waits for what `probe` finds on the terminal.
    ///
    /// # Panics
    /// On a timeout, with the text on the terminal.
    fn waits<T>(&mut self, what: &str, mut probe: impl FnMut(&mut Terminal) -> Option<T>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(found) = probe(&mut self.0) {
                return found;
            }
            if Instant::now() > deadline {
                // The prompt after the interrupt makes the text complete, unless the command ignores it.
                self.0.types("\u{3}\u{3}");
                let deadline = Instant::now() + PROMPT_PATIENCE;
                while !self.0.shows(MARK) && Instant::now() < deadline {
                    thread::sleep(LOOKS_EVERY);
                }
                panic!("{what}, within {PATIENCE:?}. It shows:\n{}\n{ADVICE}", self.0.shown());
            }
            thread::sleep(LOOKS_EVERY);
        }
    }
}
