//! Matchers: the names that a group of handlers applies to.
//!
//! | written | meaning |
//! |---|---|
//! | nothing, or `*` | all names |
//! | `Shell`, `Shell\|FileCreate`, `Edit, Write` | these names |
//! | `File*` in our files | a glob over the whole name |
//! | anything else, and `File*` in peers' files | a regular expression that is searched for in the name |
//!
//! A peer's file is read as the peer reads it: there, `mcp__git__.*` and `Note*` are regular expressions. Only a text that is
//! not a valid regular expression, such as `*Edit`, is treated as a glob.

use regex::{Regex, RegexBuilder};

use crate::dialect::Dialect;
use crate::glob::fits;
use crate::limits::{PATTERN_BYTES, REGEX_BYTES};

/// A parsed matcher.
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    All,
    Names(Vec<String>),
    Globs(Vec<String>),
    Regex(Regex),
}

impl Matcher {
    /// A matcher that all names match.
    pub fn all() -> Self {
        Self { pattern: String::new(), form: Form::All }
    }

    /// Reads a matcher.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be used, as a sentence without its subject.
    pub fn parse(pattern: &str, dialect: Dialect) -> Result<Self, String> {
        if pattern.len() > PATTERN_BYTES {
            return Err(format!("is longer than {PATTERN_BYTES} bytes"));
        }
        let trimmed = pattern.trim();
        let form = match trimmed {
            "" | "*" => Form::All,
            _ if trimmed.chars().all(is_of_names) => Form::Names(parts(trimmed, &['|', ','])?),
            _ => Self::wild(trimmed, dialect)?,
        };
        Ok(Self { pattern: trimmed.to_owned(), form })
    }

    fn wild(pattern: &str, dialect: Dialect) -> Result<Form, String> {
        let may_be_glob = pattern.chars().all(|letter| is_of_names(letter) || letter == '*');
        if may_be_glob && dialect == Dialect::Own {
            return Ok(Form::Globs(parts(pattern, &['|', ','])?));
        }
        let built = RegexBuilder::new(pattern).size_limit(REGEX_BYTES).dfa_size_limit(REGEX_BYTES).build();
        match built {
            Ok(regex) => Ok(Form::Regex(regex)),
            Err(regex::Error::CompiledTooBig(_)) => {
                Err("is a regular expression that would take too much memory".to_owned())
            }
            Err(_) if may_be_glob => Ok(Form::Globs(parts(pattern, &['|', ','])?)),
            Err(error) => {
                // The last line is the reason; the lines before it show the place.
                let text = error.to_string();
                let why = text.lines().last().unwrap_or_default().trim_start_matches("error: ");
                Err(format!("is neither a name nor a valid regular expression: {why}"))
            }
        }
    }

    /// The matcher as it was written, without spaces around it.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// True if it lists exact names.
    pub fn is_exact(&self) -> bool {
        matches!(self.form, Form::Names(_))
    }

    /// True if a name matches.
    pub fn fits(&self, name: &str) -> bool {
        match &self.form {
            Form::All => true,
            Form::Names(names) => names.iter().any(|known| known == name),
            Form::Globs(globs) => globs.iter().any(|glob| fits(glob, name)),
            Form::Regex(regex) => regex.is_match(name),
        }
    }
}

/// True if a character may occur in a list of exact names.
fn is_of_names(letter: char) -> bool {
    letter.is_alphanumeric() || "_-:/@ ,|".contains(letter)
}

fn parts(list: &str, separators: &[char]) -> Result<Vec<String>, String> {
    let parts: Vec<String> =
        list.split(separators).map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect();
    if parts.is_empty() {
        return Err("names nothing; leave it empty to match everything".to_owned());
    }
    Ok(parts)
}

#[cfg(test)]
mod tests;
