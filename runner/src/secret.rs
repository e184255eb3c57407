//! Reading a token from its source, and storing the one that replaces a one-time token.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::blocking::blocking;
use crate::error::Error;
use crate::limits::{SECRET_FILE_BYTES, TOKEN_BYTES};

/// How much of a one-time token's SHA-256 names the file of its replacement, in bytes.
const KEPT_NAME_BYTES: usize = 8;

/// The source of the token.
#[derive(Clone)]
pub enum Token {
    /// The token was given once and is kept in memory.
    Given(String),
    /// The token is read at each attempt, so that a rotated one is used.
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
    /// The token if it is only kept in memory.
    pub fn given(&self) -> Option<&str> {
        match self {
            Self::Given(token) => Some(token),
            Self::File(_) => None,
        }
    }

    /// The current token: the given one, or the replacement of a one-time token.
    ///
    /// # Errors
    /// The file cannot be read, or contains no token.
    pub(crate) async fn read(&self, state_dir: &Path) -> Result<String, Error> {
        let (token, state_dir) = (self.clone(), state_dir.to_owned());
        off_thread(move || {
            let shown = match token {
                Self::Given(token) => token,
                Self::File(path) => read_secret(&path)?,
            };
            let kept = kept_file(&state_dir, &shown);
            if kept.exists() { read_secret(&kept) } else { Ok(shown) }
        })
        .await
    }

    /// Stores the token that replaces `shown`, a one-time token: in the file that the one-time token came from, or else in
    /// the state directory. When this returns it is completely on disk, and readable only by this user.
    ///
    /// # Errors
    /// The token cannot be written anywhere.
    pub(crate) async fn keep(&self, state_dir: &Path, shown: &str, own: &str) -> Result<(), Error> {
        let (token, kept) = (self.clone(), kept_file(state_dir, shown));
        let text = format!("{own}\n");
        off_thread(move || {
            if let Self::File(path) = &token {
                match path
                    .canonicalize()
                    .map_err(Error::file(path))
                    .and_then(|path| write_private(&path, &text))
                {
                    Ok(()) => return Ok(()),
                    // A directory that only its administrator may write to.
                    Err(error) => tracing::info!("the token is kept in {} instead: {error}", kept.display()),
                }
            }
            write_private(&kept, &text)
        })
        .await
    }
}

async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    blocking(work).await.map_err(io::Error::other).map_err(Error::system("reach the token's file")).flatten()
}

/// The file for the replacement of this token, if the token did not come from a file. Each token has its own file: runners with the same
/// state directory do not share them, and the same command line finds its own again.
fn kept_file(state_dir: &Path, shown: &str) -> PathBuf {
    let digest = Sha256::digest(shown);
    let name: String = digest.iter().take(KEPT_NAME_BYTES).map(|byte| format!("{byte:02x}")).collect();
    state_dir.join(format!("token-{name}"))
}

/// Replaces or creates a file in one step; only this user can read it.
///
/// # Errors
/// The system's error.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.{:016x}", rand::random::<u64>()));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&new, path)?;
        // The name must also survive a loss of power.
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
    };
    write().map_err(|error| {
        // The new file is removed if it could not be put in place.
        let _ = std::fs::remove_file(&new);
        Error::file(path)(error)
    })
}

/// Reads a token from a file.
///
/// # Errors
/// The file cannot be read, or contains no token.
pub fn read_secret(path: &Path) -> Result<String, Error> {
    let file = File::open(path).map_err(Error::file(path))?;
    token(file).map_err(Error::file(path))
}

/// Reads a token from standard input, up to its end.
///
/// # Errors
/// Standard input cannot be read, or contains no token.
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
        return Err(invalid("it does not hold exactly one token"));
    }
    Ok(token.to_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_token_is_read_without_the_line_end() {
        assert_eq!(token("abc123\n".as_bytes()).unwrap(), "abc123");
    }

    fn wait<T>(work: impl Future<Output = T>) -> T {
        crate::blocking::start().unwrap();
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_token_file_is_replaced_in_one_step_and_private() {
        let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = home.path().join("secret");
        std::fs::write(&file, "sbe_once\n").unwrap();
        std::os::unix::fs::symlink(&file, home.path().join("link")).unwrap();
        let token = Token::File(home.path().join("link"));
        assert_eq!(wait(token.read(state.path())).unwrap(), "sbe_once");
        wait(token.keep(state.path(), "sbe_once", "sbr_own")).unwrap();
        assert_eq!(wait(token.read(state.path())).unwrap(), "sbr_own");
        assert_eq!((read_secret(&file).unwrap().as_str(), mode(&file)), ("sbr_own", 0o600));
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2, "nothing else is left");
        assert_eq!(std::fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_token_that_came_in_no_file_is_found_again_by_the_same_words_only() {
        let state = tempfile::tempdir().unwrap();
        let token = Token::Given("sbe_once".to_owned());
        wait(token.keep(state.path(), "sbe_once", "sbr_own")).unwrap();
        assert_eq!(wait(token.read(state.path())).unwrap(), "sbr_own");
        let kept = std::fs::read_dir(state.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(mode(&kept.path()), 0o600);
        let other = Token::Given("sbe_later".to_owned());
        assert_eq!(wait(other.read(state.path())).unwrap(), "sbe_later");
        wait(other.keep(state.path(), "sbe_later", "sbr_later")).unwrap();
        assert_eq!(wait(other.read(state.path())).unwrap(), "sbr_later");
        assert_eq!(wait(token.read(state.path())).unwrap(), "sbr_own", "no other token took its place");
    }

    #[test]
    fn where_the_file_cannot_be_replaced_the_state_directory_keeps_the_token() {
        let (home, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        // No user can create files there.
        let file = PathBuf::from("/proc/self/comm");
        let token = Token::File(file.clone());
        let shown = wait(token.read(state.path())).unwrap();
        wait(token.keep(state.path(), &shown, "sbr_own")).unwrap();
        assert_eq!(wait(token.read(state.path())).unwrap(), "sbr_own");
        let nowhere = wait(token.keep(&home.path().join("missing"), &shown, "sbr_own"));
        assert!(nowhere.unwrap_err().to_string().contains("missing"));
    }

    #[test]
    fn what_is_no_token_is_refused() {
        for text in ["", " \n", "two words", &"x".repeat(TOKEN_BYTES + 1)] {
            assert!(token(text.as_bytes()).is_err());
        }
    }
}
