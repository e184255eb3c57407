//! Every limit of rules, documents and lines. The user is asked about a line beyond one of them; it is never allowed.

/// The longest shell line that is parsed, in bytes.
pub const LINE_BYTES: usize = 64 * 1024;
/// The deepest nesting of substitutions, wrappers and texts for a shell in one line.
pub const DEPTH: usize = 16;
/// The largest number of commands in one line.
pub const SEGMENTS: usize = 500;
/// The largest number of words to which one word with braces is expanded.
pub const READINGS: usize = 64;
/// The largest total size, in bytes, of all ways in which the commands of one line are read for denying and asking: with expanded braces,
/// without options, without wrappers.
pub const READING_BYTES: usize = 1024 * 1024;
/// The longest text, in bytes, that a pattern is compared with at each word of a line that cannot be parsed.
pub const RAW_BYTES: usize = 4 * 1024;
/// The largest total size, in bytes, of the texts that patterns are compared with for one line.
pub const MATCH_BYTES: usize = 64 * 1024 * 1024;
/// The longest rule, in bytes.
pub const RULE_BYTES: usize = 4 * 1024;
/// The largest number of rules in one document.
pub const RULES_PER_DOCUMENT: usize = 20_000;
/// The largest number of a rule's matching examples, and of its non-matching ones.
pub const EXAMPLES: usize = 50;
/// The longest part of a line or rule that a sentence quotes, in characters.
pub const QUOTED_CHARS: usize = 120;
/// The largest number of words of one command that may be paths.
pub const NAMED_WORDS: usize = 512;
/// The longest word that may be a path, in bytes.
pub const NAMED_BYTES: usize = 1024;
