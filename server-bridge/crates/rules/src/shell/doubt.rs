//! The reasons why a line cannot be parsed.

/// A reason why a line cannot be fully parsed. The user is asked about such a line; it is never allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Doubt {
    /// The line is longer than the limit.
    #[error("it is longer than {} KiB", crate::limits::LINE_BYTES / 1024)]
    TooLong,
    /// The line is nested deeper than the limit.
    #[error("it is nested more than {} levels deep", crate::limits::DEPTH)]
    TooDeep,
    /// The line has more commands than the limit.
    #[error("it has more than {} commands", crate::limits::SEGMENTS)]
    TooMany,
    /// The line contains a character that is invisible, or looks like another one.
    #[error("it contains the invisible or misleading character U+{:04X}", *.0 as u32)]
    Unseen(char),
    /// A construct begins and does not end.
    #[error("{0} is unfinished")]
    Unterminated(&'static str),
    /// A character that no shell expects at its place.
    #[error("{0:?} is not expected there")]
    Unexpected(char),
    /// The name of a command is only known when it runs.
    #[error("the name of the command `{0}` is known only when it runs")]
    UnknownCommand(String),
    /// The line gives a name a new meaning.
    #[error("it gives a command's name a new meaning with `{0}`")]
    Defines(String),
    /// A shell gets its commands from standard input, a file descriptor or another command.
    #[error("`{0}` runs commands that are not in the line")]
    RunsInput(String),
    /// A shell gets a text that is only known when it runs.
    #[error("`{0}` runs a command line that is known only when it runs")]
    RunsText(String),
    /// The value of a variable is read as arithmetic or as a name, which may run commands and set variables.
    #[error("the value of a variable in {0} may run commands")]
    Evaluates(&'static str),
    /// The command can be read in more ways than the limit.
    #[error("a command in it can be read in too many ways")]
    TooManyReadings,
    /// Comparing the line with all rules takes more work than the limit.
    #[error("it is too long to be compared with all rules")]
    TooMuchWork,
    /// A command that runs other commands has an unknown option.
    #[error("the option `{option}` of `{command}` is not known, so the command it runs is not certain")]
    UnknownOption {
        /// The command that has the option.
        command: String,
        /// The unknown option.
        option: String,
    },
    /// Shells read the construct differently.
    #[error("shells read {0} in different ways")]
    Dialect(&'static str),
}
