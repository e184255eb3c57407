//! Every limit of rules, documents and lines. A line beyond one of them is asked, never allowed.

/// The longest shell line that is parsed, in bytes.
pub const LINE_BYTES: usize = 64 * 1024;
/// The deepest nesting of substitutions, wrappers and texts for a shell in one line.
pub const DEPTH: usize = 16;
/// The most commands in one line.
pub const SEGMENTS: usize = 500;
/// The most ways in which one command is read for denying and asking: expanded braces, dropped options, wrappers.
pub const READINGS: usize = 64;
/// The longest command, in bytes, that is read in more than its plain way.
pub const READING_BYTES: usize = 4 * 1024;
/// The longest rule, in bytes.
pub const RULE_BYTES: usize = 4 * 1024;
/// The most rules in one document.
pub const RULES_PER_DOCUMENT: usize = 20_000;
/// The most examples of one rule, of each kind.
pub const EXAMPLES: usize = 50;
/// The longest part of a line or rule that a sentence quotes, in characters.
pub const QUOTED_CHARS: usize = 120;
