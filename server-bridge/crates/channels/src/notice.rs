//! Notices for administrators. A notice's text is composed, in the recipient's language, when the notice is sent.

use api::language::Language;
use platforms::{Platform, Styled};
use serde::{Deserialize, Serialize};

use crate::limits::NOTICE_LINES;

/// The kinds of notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum About {
    Started,
    RunnerAway,
    AutomationFailed,
    AutomationPaused,
    LoginLocked,
    DiskLow,
}

impl About {
    pub(crate) const ALL: [Self; 6] = [
        Self::Started,
        Self::RunnerAway,
        Self::AutomationFailed,
        Self::AutomationPaused,
        Self::LoginLocked,
        Self::DiskLow,
    ];

    fn headline(self) -> &'static str {
        match self {
            Self::Started => "The server has started.",
            Self::RunnerAway => "Runners that have been offline for a while (user: runner):",
            Self::AutomationFailed => "Automations that failed (user: automation):",
            Self::AutomationPaused => {
                "Automations that the server paused; their owners can read why, and resume them (user: automation):"
            }
            Self::LoginLocked => {
                "Too many wrong passwords were tried for these users, so further logins are refused for a while:"
            }
            Self::DiskLow => "The disk with the server's data is nearly full (free / size):",
        }
    }
}

/// A notice, whose text is composed when it is sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Notice {
    about: About,
    /// The listed names and sizes, which are not translated.
    lines: Vec<String>,
    /// The number of further events that the notice does not list.
    more: usize,
}

impl Notice {
    pub(crate) fn new(about: About, lines: Vec<String>) -> Self {
        let more = lines.len().saturating_sub(NOTICE_LINES);
        Self { about, lines: lines.into_iter().take(NOTICE_LINES).collect(), more }
    }

    fn text(&self, language: Language) -> String {
        let mut text = language.translated(self.about.headline()).into_owned();
        for line in self.lines.iter().filter(|line| !line.is_empty()) {
            text.push_str(&format!("\n• {line}"));
        }
        if self.more > 0 {
            text.push_str(&format!("\n{}", language.translated(&format!("… and {} more", self.more))));
        }
        text
    }

    /// Renders the notice as a single message, since it is shorter than any messenger's limit.
    pub(crate) fn message(&self, platform: &dyn Platform, language: Language) -> platforms::Outgoing {
        platform.render(&Styled::plain(&self.text(language)), &[]).swap_remove(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest names of users, runners and automations, in bytes.
    const NAME_BYTES: usize = 64;

    #[test]
    fn a_notice_names_some_and_counts_the_rest_and_is_shorter_than_any_messengers_limit() {
        let name = "n".repeat(NAME_BYTES);
        for about in About::ALL {
            let notice = Notice::new(about, vec![format!("{name}: {name}"); 500]);
            for language in [Language::English, Language::Chinese] {
                let text = notice.text(language);
                assert_eq!(text.matches('•').count(), NOTICE_LINES);
                assert!(text.contains(&(500 - NOTICE_LINES).to_string()) && text.len() < 1_000, "{text}");
            }
            assert_ne!(notice.text(Language::Chinese), notice.text(Language::English), "{about:?}");
            let json = serde_json::to_string(&notice).unwrap();
            assert_eq!(serde_json::from_str::<Notice>(&json).unwrap(), notice);
        }
    }
}
