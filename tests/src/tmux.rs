//! A person at a real terminal emulator: a shell in tmux, whose screen is read as a person would see it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use crate::{Person, eventually};

/// How long any text may take to be shown.
const PATIENCE: Duration = Duration::from_secs(60);

/// A separate terminal, with a shell in it; it ends when this is dropped.
pub struct Tmux {
    directory: TempDir,
}

impl Tmux {
    /// Opens a terminal of this size.
    ///
    /// # Panics
    /// If there is no tmux.
    pub fn start(columns: u16, rows: u16) -> Self {
        let tmux = Self { directory: TempDir::with_prefix("sandbridge-tmux-").unwrap() };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let size = ["-x", &columns, "-y", &rows];
        // Waits for the first text, so that nothing is typed before the shell reads.
        tmux.call(&[&["-f", "/dev/null", "new-session", "-d"][..], &size, &["env", "PS1=$ ", "sh"]].concat());
        tmux.sees("$");
        tmux
    }

    /// Types a shell line that starts a person's CLI, preceded by variables.
    pub fn runs(&self, variables: &str, person: &Person, arguments: &[&str]) {
        let command = person.command(arguments);
        let set = command.get_envs().filter_map(|(name, value)| Some((name, value?)));
        let set: Vec<String> = set
            .map(|(name, value)| format!("{}={}", name.display(), quoted(value.to_str().unwrap())))
            .collect();
        let words = command.get_args().map(|word| quoted(word.to_str().unwrap()));
        let program = quoted(Path::new(command.get_program()).to_str().unwrap());
        let words: Vec<String> = std::iter::once(program).chain(words).collect();
        self.types(&format!("clear; env {} {variables} {}; echo ended $?", set.join(" "), words.join(" ")));
        self.press(&["Enter"]);
    }

    /// Types a text.
    pub fn types(&self, text: &str) {
        self.call(&["send-keys", "-l", "--", text]);
    }

    /// Presses keys, by their names in tmux.
    pub fn press(&self, keys: &[&str]) {
        self.call(&[&["send-keys"], keys].concat());
    }

    /// Pastes a text as terminals do, in bracketed mode.
    pub fn pastes(&self, text: &str) {
        self.call(&["set-buffer", "--", text]);
        self.call(&["paste-buffer", "-p", "-r"]);
    }

    /// Changes the size of the terminal.
    pub fn resizes(&self, columns: u16, rows: u16) {
        self.call(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// The text on the screen.
    pub fn screen(&self) -> String {
        self.call(&["capture-pane", "-p"])
    }

    /// Waits until a text is on the screen, and returns all of the screen.
    pub fn sees(&self, text: &str) -> String {
        self.becomes(&format!("{text:?} is on the screen"), |screen| screen.contains(text))
    }

    /// Waits until a text is no longer on the screen.
    pub fn loses(&self, text: &str) {
        self.becomes(&format!("{text:?} is gone from the screen"), |screen| !screen.contains(text));
    }

    /// Waits until the screen meets the condition, and returns it.
    ///
    /// # Panics
    /// If it is not in time, with the current screen.
    pub fn becomes(&self, what: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        let mut screen = String::new();
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually(what, PATIENCE, || {
                screen = self.screen();
                is_wanted(&screen).then_some(())
            });
        }));
        if waited.is_err() {
            panic!("{what}: not on\n{screen}");
        }
        screen
    }

    /// Leaves the chat that is on the screen: Ctrl+C cancels what is running, so this waits for it first, and `y` counts only once the question has
    /// been visible for a moment.
    pub fn leaves_chat(&self) {
        self.loses("Esc cancels");
        self.press(&["C-c"]);
        self.sees("Quit?");
        eventually("the chat is left", PATIENCE, || {
            let is_asked = self.screen().contains("Quit?");
            if is_asked {
                self.press(&["y"]);
            }
            (!is_asked).then_some(())
        });
        // A `y` that came too late is not part of the shell's next line. Before the shell reads, the terminal itself takes Ctrl+U and
        // leaves what it has shown.
        self.press(&["C-u"]);
        eventually("no late answer is left", PATIENCE, || {
            let screen = self.screen();
            let last =
                screen.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim_end();
            let is_left = last.ends_with('y') && last.trim_end_matches('y').ends_with("$ ");
            if is_left {
                self.press(&["C-u"]);
            }
            (!is_left).then_some(())
        });
    }

    /// A property of the terminal, by its name in tmux, such as `alternate_on`.
    pub fn fact(&self, name: &str) -> String {
        self.call(&["display-message", "-p", &format!("#{{{name}}}")]).trim().to_owned()
    }

    fn call(&self, arguments: &[&str]) -> String {
        let socket = self.directory.path().join("socket");
        let output = Command::new("tmux")
            .arg("-S")
            .arg(socket)
            .args(arguments)
            .env_remove("TMUX")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("tmux is installed: run the tests through scripts/test");
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let socket = self.directory.path().join("socket");
        let _ = Command::new("tmux").arg("-S").arg(socket).arg("kill-server").output();
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
