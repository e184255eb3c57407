//! Reading a token from where it is kept.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use crate::blocking::blocking;
use crate::error::Error;
use crate::limits::{SECRET_FILE_BYTES, TOKEN_BYTES};

/// Where the token comes from.
#[derive(Clone)]
pub enum Token {
    /// It was given once and is kept in memory.
    Given(String),
    /// It is read at each attempt, so that a rotated one is taken up.
    File(PathBuf),
}

impl std::fmt::Debug for Token {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Given(_) => formatter.write_str("Given"),
            Self::File(path) => formatter.debug_tuple("File").field(path).finish(),
        }
    }
}

impl Token {
    /// The token as it is now.
    ///
    /// # Errors
    /// The file cannot be read, or holds no token.
    pub(crate) async fn read(&self) -> Result<String, Error> {
        let token = self.clone();
        let read = move || match token {
            Self::Given(token) => Ok(token),
            Self::File(path) => read_secret(&path),
        };
        blocking(read).await.map_err(io::Error::other).map_err(Error::system("read a file")).flatten()
    }
}

/// Reads a token from a file.
///
/// # Errors
/// The file cannot be read, or holds no token.
pub fn read_secret(path: &Path) -> Result<String, Error> {
    let file = File::open(path).map_err(Error::file(path))?;
    token(file).map_err(Error::file(path))
}

/// Reads a token from standard input, up to its end.
///
/// # Errors
/// It cannot be read, or holds no token.
pub fn read_secret_from_stdin() -> Result<String, Error> {
    token(io::stdin().lock()).map_err(Error::file("standard input"))
}

fn token(source: impl Read) -> io::Result<String> {
    let invalid = |text| io::Error::new(io::ErrorKind::InvalidData, text);
    let mut text = String::new();
    source.take(SECRET_FILE_BYTES).read_to_string(&mut text)?;
    let token = text.trim();
    if token.is_empty() {
        return Err(invalid("it holds no token"));
    }
    if token.len() > TOKEN_BYTES || token.contains(char::is_whitespace) {
        return Err(invalid("it holds something else than one token"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_without_the_line_end() {
        assert_eq!(token("abc123\n".as_bytes()).unwrap(), "abc123");
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in ["", " \n", "two words", &"x".repeat(TOKEN_BYTES + 1)] {
            assert!(token(text.as_bytes()).is_err());
        }
    }
}
