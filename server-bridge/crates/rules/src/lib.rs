//! Permission rules: the verdict of deny, ask and allow rules on a call of a tool, and the reason for it.
//!
//! ```text
//!   texts ─▶ Rule ─▶ Document ─▶ Layer: managed, user, chat, workspace ─▶ RuleSet ◀─ Call: tool, line, paths, host
//!              │ refused: an error that says what to do                     │
//!              └ kept: warnings                                             ▼
//!                                         Decision: deny over ask over allow, or none; the rule, the reason
//! ```
//! The grammar is the one that people know from Claude Code: `Bash(npm run *)`, `Edit(/src/**)`, `WebFetch(domain:example.com)`,
//! `mcp__server__tool`. There is no I/O, no lock, no clock and no async code here.
//!
//! A shell line is parsed. Deny and ask rules match any of its commands, including those within substitutions, wrappers and
//! texts for another shell; an allow rule counts only if allow rules cover all of them and all files that the line writes.
//! The user is asked about a line that cannot be parsed; it is never allowed.
//!
//! | module | holds |
//! |---|---|
//! | [`rule`] | one rule: grammar, errors, warnings, effects, origins |
//! | [`document`] | rules as JSON |
//! | [`examples`] | examples, checked when a rule is loaded |
//! | [`layer`] | rules with their effects, by origin |
//! | [`call`] | calls of tools, as rules see them |
//! | [`set`] | all rules of a chat, and their verdict |
//! | [`explain`] | the verdict on each part of a call |
//! | [`mod@dangerous`] | built-in rules that ask before dangerous commands |
//! | [`named`] | the files that a command names, for its approval |
//! | [`names`] | our names for tools, and those of similar products |
//! | [`limits`] | every limit |
//! | `findings` | the matching rules of each part of a call |
//! | `index` | finds the rules that may match a call |
//! | `shell` | shell lines, split into commands |
//! | `paths`, `wild` | patterns of paths, and texts with wildcards |

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod call;
pub mod dangerous;
pub mod document;
pub mod examples;
pub mod explain;
mod findings;
mod index;
pub mod layer;
pub mod limits;
pub mod named;
pub mod names;
mod paths;
pub mod rule;
pub mod set;
mod shell;
mod wild;

pub use call::{Call, PathAccess, Place, Subject, host_of};
pub use dangerous::dangerous;
pub use document::{Document, DocumentError, Problem, ProblemKind};
pub use explain::{Explanation, Part};
pub use findings::PartKind;
pub use layer::{Layer, LoadedRule};
pub use named::Named;
pub use rule::{Effect, Origin, Rule, RuleError, Warning};
pub use set::{Decision, RuleRef, RuleSet};
pub use shell::Doubt;
