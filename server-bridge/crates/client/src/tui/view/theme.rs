//! The styles: with colours, or without.

use api::language::Language;
use ratatui::style::{Color, Modifier, Style};

use super::super::words;

/// A style for each kind of text, and the language.
pub(in crate::tui) struct Theme {
    pub(in crate::tui) accent: Style,
    pub(in crate::tui) dim: Style,
    pub(in crate::tui) good: Style,
    pub(in crate::tui) bad: Style,
    pub(in crate::tui) warning: Style,
    pub(in crate::tui) heading: Style,
    pub(in crate::tui) strong: Style,
    pub(in crate::tui) emphasis: Style,
    pub(in crate::tui) struck: Style,
    pub(in crate::tui) code: Style,
    pub(in crate::tui) link: Style,
    pub(in crate::tui) selected: Style,
    pub(in crate::tui) bar: Style,
    /// The language of this program's own texts.
    pub(in crate::tui) language: Language,
}

impl Theme {
    /// The styles with the terminal's own sixteen colours, which fit the user's theme.
    pub(in crate::tui) fn coloured() -> Self {
        let colour = |colour| Style::new().fg(colour);
        Self {
            accent: colour(Color::Cyan),
            dim: colour(Color::DarkGray),
            good: colour(Color::Green),
            bad: colour(Color::Red),
            warning: colour(Color::Yellow),
            heading: colour(Color::Cyan).add_modifier(Modifier::BOLD),
            code: colour(Color::Yellow),
            link: colour(Color::Blue).add_modifier(Modifier::UNDERLINED),
            ..Self::plain()
        }
    }

    /// The styles without any colour.
    pub(in crate::tui) fn plain() -> Self {
        let with = |modifier| Style::new().add_modifier(modifier);
        Self {
            accent: with(Modifier::BOLD),
            dim: with(Modifier::DIM),
            good: Style::new(),
            bad: with(Modifier::BOLD),
            warning: with(Modifier::BOLD),
            heading: with(Modifier::BOLD | Modifier::UNDERLINED),
            strong: with(Modifier::BOLD),
            emphasis: with(Modifier::ITALIC),
            struck: with(Modifier::CROSSED_OUT),
            code: Style::new(),
            link: with(Modifier::UNDERLINED),
            selected: with(Modifier::REVERSED),
            bar: with(Modifier::REVERSED),
            language: Language::English,
        }
    }

    /// A text of this program, or of the server, in the language of the person at the terminal.
    pub(in crate::tui) fn say(&self, text: &str) -> String {
        words::say(self.language, text)
    }
}
