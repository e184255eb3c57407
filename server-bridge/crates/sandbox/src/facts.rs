//! A runner's description of itself.

pub use proto::handshake::Layer;
use proto::handshake::{Facts, Register, RunAsNames, UPDATE_CAPABILITY};
use proto::version::is_newer;
use serde::{Deserialize, Serialize};

use crate::limits::{FACT_BYTES, FACT_ITEMS};

/// The profile shown for a runner of xbot's dialect: in the list of runners and in the panel.
pub(crate) const LEGACY_PROFILE: &str = "legacy: unconfined, no resume";

/// A runner's description of itself at its registration: untrusted, informative, safe to store as JSON and to show: no text
/// is longer than 4 KiB or has control characters, no list has more than 64 items.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerFacts {
    /// The name it was started with, if any; the token decides which runner it is.
    pub runner_id: String,
    /// The id of this process, 32 hex digits.
    pub boot_id: String,
    /// Operating system, such as `linux`.
    pub os: String,
    /// Machine architecture, such as `x86_64`.
    pub arch: String,
    /// The machine's host name.
    pub hostname: String,
    /// The runner's version.
    pub version: String,
    /// `workspace`, `read-only` or `full-control`; `legacy: unconfined, no resume` if it speaks xbot's dialect.
    pub profile: String,
    /// Optional abilities, by name.
    pub capabilities: Vec<String>,
    /// Landlock's ABI version, 0 if there is none.
    pub landlock_abi: u32,
    /// The way in which whole process trees are killed there.
    pub kill_tier: String,
    /// The layers of confinement, each with true if it is in effect.
    pub layers: Vec<Layer>,
    /// Absolute path of its workspace.
    pub workspace: String,
    /// `openai` or `anthropic` if [`crate::Sandbox::llm`] reaches an endpoint there, else empty.
    #[serde(default)]
    pub llm_provider: String,
    /// The model to ask that endpoint for; may be empty.
    #[serde(default)]
    pub llm_model: String,
    /// The users that commands run as there, unless they only run as the runner's own user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_as: Option<RunAsNames>,
    /// The reason why its last update failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_error: Option<String>,
}

impl RunnerFacts {
    pub(crate) fn new(facts: &Facts, workspace: &str) -> Self {
        Self {
            runner_id: fact(&facts.runner_id),
            boot_id: facts.boot_id.to_string(),
            os: fact(&facts.os),
            arch: fact(&facts.arch),
            hostname: fact(&facts.hostname),
            version: fact(&facts.version),
            profile: fact(&facts.profile),
            capabilities: facts.capabilities.iter().take(FACT_ITEMS).map(|name| fact(name)).collect(),
            landlock_abi: facts.landlock_abi,
            kill_tier: fact(&facts.kill_tier),
            layers: facts.layers.iter().take(FACT_ITEMS).map(layer).collect(),
            workspace: fact(workspace),
            llm_provider: String::new(),
            llm_model: String::new(),
            run_as: facts.run_as.as_ref().map(run_as),
            update_error: facts.update_error.as_deref().map(fact),
        }
    }

    /// True if it is an older version than this one; a version that is not three numbers never is.
    pub fn is_older_than(&self, version: &str) -> bool {
        is_newer(version, &self.version)
    }

    /// True if it speaks xbot's dialect: it reports no details, and nothing is confined there.
    pub fn is_legacy(&self) -> bool {
        self.profile == LEGACY_PROFILE
    }

    /// True if it can replace its own program.
    pub fn can_update(&self) -> bool {
        self.capabilities.iter().any(|name| name == UPDATE_CAPABILITY)
    }

    pub(crate) fn with_llm(self, register: &Register) -> Self {
        Self { llm_provider: fact(&register.llm_provider), llm_model: fact(&register.llm_model), ..self }
    }
}

fn layer(layer: &Layer) -> Layer {
    Layer { name: fact(&layer.name), holds: layer.holds, detail: fact(&layer.detail) }
}

fn run_as(names: &RunAsNames) -> RunAsNames {
    let RunAsNames { default, privileged } = names;
    RunAsNames { default: fact(default), privileged: privileged.as_deref().map(fact) }
}

pub(crate) fn fact(text: &str) -> String {
    harmless(text, FACT_BYTES)
}

/// A runner's text, made safe to show: cut to this many bytes, with every character that controls a terminal or the
/// direction of text replaced.
pub(crate) fn harmless(text: &str, max_bytes: usize) -> String {
    let is_control = |character: char| {
        let is_direction = matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        character.is_control() || is_direction
    };
    let mut shown = String::with_capacity(text.len().min(max_bytes));
    for character in text.chars() {
        let character = if is_control(character) { char::REPLACEMENT_CHARACTER } else { character };
        if shown.len() + character.len_utf8() > max_bytes {
            break;
        }
        shown.push(character);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_runner_cannot_control_a_terminal_nor_fill_a_store() {
        let layer = Layer { name: "x\x1b[2J".to_owned(), holds: true, detail: "\r\n\u{9b}31m".to_owned() };
        let facts = Facts {
            hostname: "\x1b]0;owned\x07\u{202e}box".to_owned(),
            os: "é".repeat(FACT_BYTES),
            capabilities: vec![String::new(); FACT_ITEMS + 1],
            layers: vec![layer; FACT_ITEMS + 1],
            ..crate::testing::facts(1)
        };
        let kept = RunnerFacts::new(&facts, "/work\tspace");
        assert_eq!(kept.hostname, "\u{fffd}]0;owned\u{fffd}\u{fffd}box");
        assert_eq!(kept.workspace, "/work\u{fffd}space");
        assert_eq!(kept.os, "é".repeat(FACT_BYTES / 2));
        assert_eq!((kept.capabilities.len(), kept.layers.len()), (FACT_ITEMS, FACT_ITEMS));
        let Layer { name, detail, .. } = &kept.layers[0];
        assert_eq!((name.as_str(), detail.as_str()), ("x\u{fffd}[2J", "\u{fffd}\u{fffd}\u{fffd}31m"));
        assert_eq!(RunnerFacts::new(&crate::testing::facts(1), "/wörk").workspace, "/wörk");
    }
}
