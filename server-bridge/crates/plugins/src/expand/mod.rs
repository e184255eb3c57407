//! Expands a command or skill with its arguments to a prompt.
//!
//! ```text
//!   text ─▶ Template: text, !`lines of shell`, @files ─▶ (arguments, places) ─▶ Expansion ─▶ (the caller resolves its parts)
//! ```
//! A text is split into its parts before arguments are inserted, so that an argument never becomes a shell line or a file by
//! itself. In a shell line, each argument is quoted as its position requires, and stays one word. Nothing is run or read
//! here: the caller treats a shell line as a call of the shell, with its rules and questions.

mod arguments;
mod parse;
mod shell;

use crate::limits::{ARGUMENTS_BYTES, PROMPT_BYTES, PROMPT_PARTS};
use crate::variables::Variables;

use arguments::Arguments;
use parse::Segment;

/// A text that was split into its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
    /// The names of arguments, in their order.
    names: Vec<String>,
    /// The number of the first argument: 0 if the text uses `$0`, or else 1.
    first: usize,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text that is used as it is.
    Text(String),
    /// A shell command that is replaced by its output.
    Shell(String),
    /// A reference to a file of the workspace that is replaced by the file's content. The reference stays, with `@` before it, if there is no
    /// such file.
    File(String),
}

/// A prompt with parts that the caller must resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// The parts in the order of the text.
    pub parts: Vec<Part>,
}

/// The reason why a command is not expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpansionError {
    /// The arguments are too long.
    #[error("the arguments have more than {ARGUMENTS_BYTES} bytes; put them into a file and name it")]
    Arguments,
    /// The prompt is too long.
    #[error("the prompt has more than {PROMPT_BYTES} bytes with these arguments")]
    Prompt,
    /// The command has too many shell lines or files.
    #[error("the command has more than {PROMPT_PARTS} lines of shell and files")]
    Parts,
    /// An argument cannot be inserted into a shell line safely.
    #[error(
        "`{argument}` cannot be put safely into the command line `{line}`; use an argument with only letters, digits and `-_./:@`"
    )]
    Unsafe {
        /// The argument that was typed.
        argument: String,
        /// The shell line in which it is used.
        line: String,
    },
}

impl Template {
    /// Splits a text into its parts. `names` are the names of its arguments, which the text contains as `$NAME`.
    pub fn parse(text: &str, names: &[String]) -> Self {
        let segments = parse::segments(text);
        let first = usize::from(!arguments::uses_zero(text));
        Self { segments, names: names.to_vec(), first }
    }

    /// The shell lines, before arguments are inserted.
    pub fn lines_of_shell(&self) -> impl Iterator<Item = &str> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Shell(line) => Some(line.as_str()),
            Segment::Text(_) | Segment::File(_) => None,
        })
    }

    /// Inserts arguments, as they were typed after the command's name. `directory` is the directory of a skill.
    ///
    /// # Errors
    ///
    /// Fails if a limit is exceeded, or if an argument cannot be used in a shell line.
    pub fn expand(
        &self,
        typed: &str,
        variables: &Variables,
        directory: &str,
    ) -> Result<Expansion, ExpansionError> {
        if typed.len() > ARGUMENTS_BYTES {
            return Err(ExpansionError::Arguments);
        }
        let arguments = Arguments::read(typed, &self.names, self.first, variables, directory);
        let mut parts = Vec::new();
        let (mut bytes, mut others, mut uses_any) = (0, 0, false);
        for segment in &self.segments {
            let part = match segment {
                Segment::Text(text) => {
                    let (text, uses) = arguments.fill(text);
                    uses_any |= uses;
                    Part::Text(text)
                }
                Segment::File(path) => {
                    let (path, uses) = arguments.fill(path);
                    uses_any |= uses;
                    Part::File(path)
                }
                Segment::Shell(line) => {
                    let (line, uses) = shell::fill(line, &arguments)?;
                    uses_any |= uses;
                    Part::Shell(line)
                }
            };
            let (Part::Text(text) | Part::Shell(text) | Part::File(text)) = &part;
            bytes += text.len();
            others += usize::from(!matches!(part, Part::Text(_)));
            if bytes > PROMPT_BYTES {
                return Err(ExpansionError::Prompt);
            }
            if others > PROMPT_PARTS {
                return Err(ExpansionError::Parts);
            }
            parts.push(part);
        }
        // If the text has no placeholder for arguments, they are appended.
        if !uses_any && !typed.trim().is_empty() {
            parts.push(Part::Text(format!("\n\nARGUMENTS: {}", typed.trim())));
        }
        Ok(Expansion { parts })
    }
}

#[cfg(test)]
mod tests;
