//! Findings about the parts of a plugin or marketplace that are broken or not used.

/// A part that is not used here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unused {
    /// The part: `lspServers`, `agents/reviewer.md: memory`.
    pub what: String,
    /// The reason, for people.
    pub why: String,
}

/// Something wrong with a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The part: `skills/review/SKILL.md`, `plugin.json: commands[2]`.
    pub place: String,
    /// A sentence for people.
    pub text: String,
    /// True if the part is left out because of it.
    pub is_refused: bool,
}
