//! Findings about the parts of a plugin or marketplace that are broken or not used.

/// A part of a plugin or marketplace that is not used here.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unused {
    /// The part, such as `lspServers` or `agents/reviewer.md: memory`.
    pub what: String,
    /// The reason, for people.
    pub why: String,
}

/// A problem of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The part, such as `skills/review/SKILL.md` or `plugin.json: commands[2]`.
    pub place: String,
    /// A description for people.
    pub text: String,
    /// True if the part is left out because of the problem.
    pub is_refused: bool,
}
