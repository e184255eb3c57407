//! The current settings of the whole server, and the file that may replace the base prompt.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{OnceLock, PoisonError, RwLock};

use agent::context::ContextMode;
use tokio::io::AsyncReadExt;

use crate::embedder::Chosen;
use crate::limits::{BASE_PROMPT_BYTES, BASE_PROMPT_NAME_BYTES};

/// The keys under which the settings are stored, also used in the audit trail.
pub(crate) const TURNS_AT_ONCE: &str = "turns_at_once";
pub(crate) const CONTEXT_MODE: &str = "context_mode";
pub(crate) const BASE_PROMPT: &str = "base_prompt";
pub(crate) const EMBEDDER: &str = "embedder";

/// The settings that were set; the others have the values from the server's start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) turns_at_once: Option<usize>,
    pub(crate) context_mode: Option<ContextMode>,
    /// The name of a file in the server's home directory.
    pub(crate) base_prompt: Option<String>,
    pub(crate) embedder: Option<Chosen>,
}

/// The current settings of the whole server, and its home directory.
#[derive(Debug, Default)]
pub(crate) struct LiveSettings {
    values: RwLock<Values>,
    home: OnceLock<PathBuf>,
    /// Held while settings are changed, so that the last stored value is the one that applies.
    pub(crate) changing: tokio::sync::Mutex<()>,
}

/// The reason why a file cannot be used as the base prompt.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BasePromptError {
    #[error(
        "{0:?} cannot be the file of the base prompt; name a file in the server's home directory that ends in .md, such as prompt.md"
    )]
    Name(String),
    #[error("there is no file {0} in the server's home directory; put it there, or choose another one")]
    Missing(String),
    #[error(
        "{0} in the server's home directory is not a regular file; replace it with a text file that contains the base prompt"
    )]
    NotAFile(String),
    #[error("{0} in the server's home directory is longer than 32 KiB; shorten it")]
    TooLarge(String),
    #[error("{0} in the server's home directory is not UTF-8 text; save it as UTF-8")]
    NotText(String),
    #[error("{0} in the server's home directory is empty; write the base prompt into it, or choose none")]
    Empty(String),
    #[error("{0} in the server's home directory cannot be read: {1}; check its owner and mode")]
    Unreadable(String, io::Error),
}

impl Values {
    /// The settings in stored rows. A value that this version does not understand counts as not set.
    pub(crate) fn of_rows(rows: &[(String, String)]) -> Self {
        let mut values = Self::default();
        for (name, value) in rows {
            let is_understood = match name.as_str() {
                TURNS_AT_ONCE => value.parse().map(|number| values.turns_at_once = Some(number)).is_ok(),
                CONTEXT_MODE => value.parse().map(|mode| values.context_mode = Some(mode)).is_ok(),
                BASE_PROMPT => {
                    values.base_prompt = Some(value.clone());
                    true
                }
                EMBEDDER => value.parse().map(|chosen| values.embedder = Some(chosen)).is_ok(),
                _ => false,
            };
            if !is_understood {
                tracing::warn!(%name, %value, "a stored server setting cannot be parsed and is ignored");
            }
        }
        values
    }
}

impl LiveSettings {
    /// Sets the server's home directory. Called once, when the server starts.
    pub(crate) fn set_home(&self, home: PathBuf) {
        // Only the first call has an effect.
        let _ = self.home.set(home);
    }

    /// The path of a file in the server's home directory; `None` if the service has no home directory.
    pub(crate) fn file(&self, name: &str) -> Option<PathBuf> {
        self.home.get().map(|home| home.join(name))
    }

    /// The server's home directory, if the service has one.
    pub(crate) fn home(&self) -> Option<&Path> {
        self.home.get().map(PathBuf::as_path)
    }

    pub(crate) fn values(&self) -> Values {
        // Values are replaced as a whole, so they stay consistent if another thread panics.
        self.values.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn replace(&self, values: Values) {
        *self.values.write().unwrap_or_else(PoisonError::into_inner) = values;
    }

    /// The current context mode.
    pub(crate) fn context_mode(&self) -> ContextMode {
        self.values().context_mode.unwrap_or_default()
    }

    /// The text of the file that replaces the built-in base prompt, if one is set.
    pub(crate) async fn base_prompt(&self) -> Option<Result<String, BasePromptError>> {
        let name = self.values().base_prompt?;
        Some(self.read_base_prompt(&name).await)
    }

    /// Reads a file as a base prompt.
    ///
    /// # Errors
    /// [`BasePromptError`], with the reason why it cannot be used.
    pub(crate) async fn read_base_prompt(&self, name: &str) -> Result<String, BasePromptError> {
        let path = self.file(name).filter(|_| is_base_prompt_name(name));
        let path = path.ok_or_else(|| BasePromptError::Name(name.to_owned()))?;
        let unreadable = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => BasePromptError::Missing(name.to_owned()),
            _ => BasePromptError::Unreadable(name.to_owned(), error),
        };
        let content = beginning(&path, BASE_PROMPT_BYTES as u64 + 1).await.map_err(unreadable)?;
        let content = content.ok_or_else(|| BasePromptError::NotAFile(name.to_owned()))?;
        if content.len() > BASE_PROMPT_BYTES {
            return Err(BasePromptError::TooLarge(name.to_owned()));
        }
        let text = String::from_utf8(content).map_err(|_| BasePromptError::NotText(name.to_owned()))?;
        match text.trim() {
            "" => Err(BasePromptError::Empty(name.to_owned())),
            text => Ok(text.to_owned()),
        }
    }
}

/// The content of a regular file, up to `limit` bytes; `None` for anything else. The type is checked first, because opening a named pipe
/// waits for a writer.
pub(crate) async fn beginning(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    if !tokio::fs::metadata(path).await?.is_file() {
        return Ok(None);
    }
    let mut content = Vec::new();
    tokio::fs::File::open(path).await?.take(limit).read_to_end(&mut content).await?;
    Ok(Some(content))
}

/// True if a base prompt may be read from a file with this name: only in the home directory, and never a file that contains secrets.
fn is_base_prompt_name(name: &str) -> bool {
    name.len() <= BASE_PROMPT_NAME_BYTES
        && name.ends_with(".md")
        && !name.starts_with('.')
        && !name.contains(|char: char| char == '/' || char.is_control())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_file_that_cannot_be_a_base_prompt_is_refused_with_the_reason() {
        let home = tempfile::tempdir().unwrap();
        let settings = LiveSettings::default();
        let read =
            async |name: &str| settings.read_base_prompt(name).await.map_err(|error| error.to_string());
        assert!(read("a.md").await.unwrap_err().contains("cannot be the file"), "there is no home yet");
        settings.set_home(home.path().to_owned());
        let put = |name: &str, content: &[u8]| fs::write(home.path().join(name), content).unwrap();
        put("large.md", &vec![b'x'; BASE_PROMPT_BYTES + 1]);
        put("latin.md", b"caf\xe9");
        put("blank.md", b" \n\t");
        put("sandbridge.key", b"secret");
        fs::create_dir(home.path().join("directory.md")).unwrap();
        let pipe = home.path().join("pipe.md");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let long_name = format!("{}.md", "x".repeat(BASE_PROMPT_NAME_BYTES));
        for (name, reason) in [
            ("gone.md", "there is no file gone.md"),
            ("large.md", "longer than 32 KiB"),
            ("latin.md", "not UTF-8"),
            ("blank.md", "is empty"),
            ("directory.md", "not a regular file"),
            ("pipe.md", "not a regular file"),
            ("sandbridge.key", "ends in .md"),
            ("../other.md", "ends in .md"),
            ("/etc/motd.md", "ends in .md"),
            (".hidden.md", "ends in .md"),
            ("", "ends in .md"),
            (&long_name, "ends in .md"),
        ] {
            let told = read(name).await.unwrap_err();
            assert!(told.contains(reason), "{name}: {told}");
        }
        put("whole.md", &vec![b'x'; BASE_PROMPT_BYTES]);
        assert_eq!(read("whole.md").await.unwrap().len(), BASE_PROMPT_BYTES);
    }

    #[test]
    fn what_a_newer_version_set_does_not_hold_and_the_rest_does() {
        let rows = [
            (CONTEXT_MODE, "dreamy"),
            (TURNS_AT_ONCE, "3"),
            ("weather", "fine"),
            (EMBEDDER, "crystal"),
            (BASE_PROMPT, "a.md"),
        ];
        let rows = rows.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let base_prompt = Some("a.md".to_owned());
        assert_eq!(
            Values::of_rows(&rows),
            Values { turns_at_once: Some(3), context_mode: None, base_prompt, embedder: None }
        );
    }
}
