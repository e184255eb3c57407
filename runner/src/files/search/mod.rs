//! Searching a tree: by name ([`glob()`]) and by content ([`grep()`]).
//!
//! | module | holds |
//! |---|---|
//! | `scan` | the walk that both share, and its limits |
//! | `ignores` | the paths that `.gitignore` files exclude |
//! | `glob` | `Glob` |
//! | `grep`, `lines` | `Grep`; the lines of one file |
//!
//! A search works in short slices on a thread that may block; between them it checks for a cancel.

mod glob;
mod grep;
mod ignores;
mod lines;
mod scan;

use globset::{GlobBuilder, GlobMatcher};
use proto::{ErrorKind, WireError};

pub(crate) use glob::glob;
pub(crate) use grep::grep;

use crate::limits::SEARCH_PATTERN_BYTES;

/// A pattern of paths, ready to be matched.
fn path_pattern(pattern: &str) -> Result<GlobMatcher, WireError> {
    check_length(pattern)?;
    let built = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| glob.compile_matcher()).map_err(|error| bad_pattern(pattern, error.kind()))
}

fn check_length(pattern: &str) -> Result<(), WireError> {
    if pattern.len() <= SEARCH_PATTERN_BYTES {
        return Ok(());
    }
    let text = format!("the pattern is longer than {SEARCH_PATTERN_BYTES} bytes: give a shorter one");
    Err(WireError::new(ErrorKind::InvalidBody, text))
}

fn bad_pattern(pattern: &str, error: impl std::fmt::Display) -> WireError {
    WireError::new(ErrorKind::InvalidBody, format!("the pattern {pattern:?} cannot be parsed: {error}"))
}
