//! A rule: its text, and its parsed form.

mod parse;
mod shell_pattern;

use std::fmt;

pub(crate) use parse::plain_host;
pub(crate) use shell_pattern::ShellPattern;

use crate::paths::PathPattern;
use crate::wild::{Wild, WildError};

/// The effect of a rule on a call that it matches; the strictest is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// The call is denied.
    Deny,
    /// The user is asked, in every mode.
    Ask,
    /// The call is allowed without asking.
    Allow,
}

impl Effect {
    /// All effects, the strictest first.
    pub const ALL: [Self; 3] = [Self::Deny, Self::Ask, Self::Allow];

    /// The effect's name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deny => "deny",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Who set a rule; the most powerful is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// The server's administrator.
    Managed,
    /// The user, for all chats.
    User,
    /// The user, for one chat.
    Chat,
    /// A file of the workspace. It can deny and ask, but never allow.
    Workspace,
    /// The program itself, as a default.
    BuiltIn,
}

impl Origin {
    /// The origin's name in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::User => "user",
            Self::Chat => "chat",
            Self::Workspace => "workspace",
            Self::BuiltIn => "built_in",
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// A rule's text in parsed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(crate) text: String,
    pub(crate) target: Target,
    pub(crate) specifier: Specifier,
}

/// The tools that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// `*`: all tools.
    Everything,
    /// One tool, by our name for it.
    Tool(String),
    /// Tools of an MCP server.
    Mcp {
        /// The server; `None` for the alias with single underscores, which does not show where the server's name ends.
        server: Option<Wild>,
        /// The tool; `None` for all tools of the server.
        tool: Option<Wild>,
        /// The rule as a whole, for names that can be split in several ways.
        whole: Wild,
    },
}

/// The calls of a tool that a rule applies to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Specifier {
    /// All calls.
    All,
    /// Commands that match a pattern.
    Shell(ShellPattern),
    /// Paths that match a pattern.
    Path(PathPattern),
    /// A domain; with true, the domains below it.
    Domain(String, bool),
    /// Named things that match a pattern.
    Name(Wild),
}

impl Rule {
    /// The rule's text, without spaces around it.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl std::str::FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        Self::parse(text)
    }
}

/// The reason why a rule is refused: it is malformed, or can never match. Each error contains the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The text is empty.
    #[error(
        "the rule is empty; write a tool such as `Read`, or a tool with a specifier such as `Bash(npm run *)`"
    )]
    Empty,
    /// The rule is longer than the limit.
    #[error("the rule is longer than {} bytes; split it", crate::limits::RULE_BYTES)]
    TooLong,
    /// The rule contains an invisible or control character.
    #[error("the rule contains the invisible character U+{:04X}; remove it", *.0 as u32)]
    Unseen(char),
    /// The parentheses do not match.
    #[error("the specifier must begin with `(` after the tool's name and end with `)` at the end")]
    Parentheses,
    /// A tool's name contains a character that names cannot contain.
    #[error("`{0}` is not a tool's name: names can contain only letters, digits, `_` and `-`")]
    ToolName(String),
    /// There is nothing between the parentheses.
    #[error("the specifier is empty and matches nothing; write `{0}` for all calls of the tool")]
    EmptySpecifier(String),
    /// The tool's calls cannot be distinguished by a specifier.
    #[error("`{0}` takes no specifier; write `{0}` alone")]
    NoSpecifier(String),
    /// The rule is about several commands.
    #[error("`{0}` never matches: a line is matched one command at a time; write one rule for each command")]
    SeveralCommands(char),
    /// The rule is about a redirection.
    #[error(
        "`{0}` never matches: redirections are not part of a command; write `Edit(path)` or `Read(path)` for the file"
    )]
    Redirection(char),
    /// The rule is about a word that is not a command.
    #[error("`{0}` never matches: it is part of the shell's grammar; write a rule for the command after it")]
    ReservedWord(String),
    /// The rule is about an assignment.
    #[error(
        "`{0}` never matches: assignments before a command are not part of it; write a rule for the command"
    )]
    Assignment(String),
    /// A quote is not closed.
    #[error("a quote is not closed; write `\\'` or `\\\"` for the character itself")]
    Quote,
    /// A pattern of paths is malformed.
    #[error("the path is not a pattern: {0}")]
    Path(#[from] WildError),
    /// The path is negated.
    #[error("a path must not begin with `!`; put the exception into a separate rule")]
    Negated,
    /// A domain is malformed.
    #[error(
        "`{0}` is not a domain; write `domain:example.com` or `domain:*.example.com`, in its xn-- form if it has non-ASCII letters"
    )]
    Domain(String),
    /// An MCP rule names no server.
    #[error("the rule names no server; write `mcp__server` or `mcp__server__tool`")]
    NoServer,
    /// The allow rule could apply to servers that are not known yet.
    #[error("an allow rule must name its server; write `mcp__server__*`")]
    AnyServer,
    /// The allow rule uses single underscores.
    #[error("`{0}` may mean tools of several servers; write `mcp__server__tool` in an allow rule")]
    AmbiguousServer(String),
    /// An example contradicts the rule.
    #[error("its example `{example}` {}", if *.should_match { "does not match; correct the rule or the example" } else { "matches, but must not; correct the rule or the example" })]
    Example {
        /// The text of the example.
        example: String,
        /// True if it should match.
        should_match: bool,
    },
    /// The rule has too many examples.
    #[error("it has more than {} examples of a kind; remove some", crate::limits::EXAMPLES)]
    TooManyExamples,
}

/// A warning about a rule that is kept, or about an allow rule without effect.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Warning {
    /// No tool with this name is known.
    #[error("no tool is named `{name}`{}; the rule takes effect when one is added", .nearest.map(|it| format!(" (did you mean `{it}`?)")).unwrap_or_default())]
    UnknownTool {
        /// The unknown name.
        name: String,
        /// A similar name that is known.
        nearest: Option<&'static str>,
    },
    /// An allow rule of a workspace.
    #[error(
        "a workspace can deny and ask, but never allow, so the rule has no effect; add it to your own rules"
    )]
    WorkspaceAllows,
    /// An allow rule for a command that runs any other command.
    #[error(
        "`{0}` runs other commands, which need a separate allow rule; name the command as well, as in `Bash({0} make *)`"
    )]
    AllowsWrapper(String),
    /// An allow rule for a command that can be made to run any other command.
    #[error(
        "`{0}` can run other commands, by its options or by what it reads, and the rule allows that as well"
    )]
    AllowsOptions(String),
    /// The name of a command that is compared literally.
    #[error(
        "`{0}` matches only a command that is written exactly like this: `?` and `[` are not wildcards in it, and a rule for its name alone matches it in every folder"
    )]
    LiteralName(String),
    /// An allow rule for everything.
    #[error("the rule allows every call, except for command lines that cannot be parsed")]
    AllowsEverything,
}

#[cfg(test)]
mod tests;
