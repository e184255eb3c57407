//! The text being written: lines, history, completion of slash commands.

use api::chat::CommandView;
use ratatui::crossterm::event::KeyEvent;
use ratatui::style::Style;
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use super::text::visible;
use crate::limits::{HISTORY_ENTRIES, INPUT_MAX_BYTES};

/// The input field.
pub(super) struct Input {
    pub(super) area: TextArea<'static>,
    /// The sent texts, the oldest first.
    history: Vec<String>,
    /// The history entry being shown, and the text written before.
    browsing: Option<(usize, String)>,
}

impl Default for Input {
    fn default() -> Self {
        Self { area: area(""), history: Vec::new(), browsing: None }
    }
}

fn area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::new());
    area.move_cursor(CursorMove::Bottom);
    area.move_cursor(CursorMove::End);
    area
}

/// A text that could not be sent, followed by the text that was written since.
pub(super) fn joined(text: &str, since: &str) -> String {
    if since.trim().is_empty() { text.to_owned() } else { format!("{text}\n{since}") }
}

impl Input {
    /// The whole text.
    pub(super) fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// True if nothing has been typed.
    pub(super) fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Replaces the text.
    pub(super) fn set(&mut self, text: &str) {
        self.area = area(&visible(text));
        self.browsing = None;
    }

    /// Puts a text that could not be sent in front of what was written since.
    pub(super) fn put_back(&mut self, text: &str) {
        self.set(&joined(text, &self.text()));
    }

    /// Takes the text, to be sent.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.set("");
        self.remember(&text);
        text
    }

    /// Adds a text to the history.
    pub(super) fn remember(&mut self, text: &str) {
        if text.trim().is_empty() || self.history.last().is_some_and(|last| last == text) {
            return;
        }
        self.history.push(text.to_owned());
        if self.history.len() > HISTORY_ENTRIES {
            self.history.remove(0);
        }
    }

    /// Replaces the history.
    pub(super) fn set_history(&mut self, texts: Vec<String>) {
        self.history.clear();
        self.browsing = None;
        texts.iter().for_each(|text| self.remember(text));
    }

    /// Handles a key for the text.
    pub(super) fn key(&mut self, key: KeyEvent) {
        if self.area.input(key) {
            self.browsing = None;
        }
    }

    /// Inserts a line break.
    pub(super) fn new_line(&mut self) {
        self.area.insert_newline();
    }

    /// Inserts a text; returns true if all of it fitted.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        let text = visible(&text.replace("\r\n", "\n").replace('\r', "\n"));
        let room = INPUT_MAX_BYTES.saturating_sub(self.text().len());
        let fitting = &text[..text.floor_char_boundary(room)];
        self.area.insert_str(fitting);
        self.browsing = None;
        fitting.len() == text.len()
    }

    /// Up: moves through the text, then through the history.
    pub(super) fn up(&mut self) {
        if self.area.screen_cursor().row > 0 {
            return self.area.move_cursor(CursorMove::Up);
        }
        let (at, draft) = match self.browsing.take() {
            Some((at, draft)) => (at.saturating_sub(1), draft),
            None => (self.history.len().saturating_sub(1), self.text()),
        };
        if let Some(text) = self.history.get(at).cloned() {
            self.set(&text);
            self.browsing = Some((at, draft));
        }
    }

    /// Down: moves the opposite way, back to the text being written.
    pub(super) fn down(&mut self) {
        let before = self.area.screen_cursor().row;
        self.area.move_cursor(CursorMove::Down);
        if self.area.screen_cursor().row != before {
            return;
        }
        let Some((at, draft)) = self.browsing.take() else { return };
        match self.history.get(at + 1).cloned() {
            Some(text) => {
                self.set(&text);
                self.browsing = Some((at + 1, draft));
            }
            None => self.set(&draft),
        }
    }
}

/// A completion of the text.
#[derive(Debug, PartialEq)]
pub(super) struct Completion {
    /// The resulting text.
    pub(super) text: String,
    /// The text to display, with the effect of the completion.
    pub(super) shown: String,
    pub(super) about: String,
}

/// The completions of a text that begins with a slash. `arguments` returns the possible arguments of a command.
pub(super) fn completions(
    text: &str,
    commands: &[CommandView],
    arguments: impl Fn(&str) -> Vec<String>,
) -> Vec<Completion> {
    let Some(rest) = text.strip_prefix('/').filter(|rest| !rest.contains('\n')) else { return Vec::new() };
    if let Some((word, begun)) = rest.split_once(' ') {
        let fitting = arguments(word)
            .into_iter()
            .filter(|argument| argument.starts_with(begun) && argument.as_str() != begun);
        return fitting
            .map(|argument| Completion {
                text: format!("/{word} {argument}"),
                shown: argument,
                about: String::new(),
            })
            .collect();
    }
    let fitting = commands
        .iter()
        .filter(|command| command.usage.strip_prefix('/').is_some_and(|usage| usage.starts_with(rest)));
    fitting
        .map(|CommandView { usage, about, .. }| {
            let (word, has_argument) = match usage.split_once(' ') {
                Some((word, _)) => (word, true),
                None => (usage.as_str(), false),
            };
            let text = if has_argument { format!("{word} ") } else { word.to_owned() };
            Completion { text, shown: usage.clone(), about: about.clone() }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_comes_back_and_the_draft_is_not_lost() {
        let mut input = Input::default();
        for text in ["one", "two", "two"] {
            input.set(text);
            assert_eq!(input.take(), text);
        }
        input.set("draft");
        input.up();
        assert_eq!(input.text(), "two");
        input.up();
        input.up();
        assert_eq!(input.text(), "one");
        input.down();
        input.down();
        assert_eq!(input.text(), "draft");
        input.down();
        assert_eq!(input.text(), "draft");
    }

    #[test]
    fn what_is_pasted_has_its_lines_and_no_controls_and_an_end() {
        let mut input = Input::default();
        assert!(input.paste("a\r\nb\u{1b}[31m\rc"));
        assert_eq!(input.text(), "a\nb\u{fffd}[31m\nc");
        assert!(!input.paste(&"x".repeat(INPUT_MAX_BYTES + 1)));
        assert_eq!(input.text().len(), INPUT_MAX_BYTES);
        input.set("later");
        input.put_back("not sent");
        assert_eq!(input.text(), "not sent\nlater");
    }

    #[test]
    fn slash_commands_and_their_arguments_are_completed() {
        let arguments = |word: &str| {
            if word == "runner" { vec!["laptop".to_owned(), "work".to_owned()] } else { Vec::new() }
        };
        let command =
            |usage: &str| CommandView { word: String::new(), usage: usage.to_owned(), about: String::new() };
        let commands = ["/undo", "/undo --force", "/runner NAME"].map(command);
        let texts = |text: &str| -> Vec<String> {
            completions(text, &commands, arguments).into_iter().map(|completion| completion.text).collect()
        };
        assert!(texts("/und").contains(&"/undo".to_owned()));
        assert_eq!(texts("/runner l"), ["/runner laptop"]);
        assert!(texts("/runner laptop").is_empty() && texts("hello").is_empty() && texts("/xyz").is_empty());
        assert_eq!(texts("/"), ["/undo", "/undo ", "/runner "]);
    }
}
