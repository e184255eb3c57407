//! The server and the login there: `client.json` in the home directory, readable by its owner only.
//!
//! A token is only ever sent to the server that issued it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use api::language::Language;
use home::atomic_file;
use serde::{Deserialize, Serialize};

use super::endpoint::Endpoint;
use super::failure::Failure;

const FILE_NAME: &str = "client.json";
const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// The state kept from one call to the next.
#[derive(Clone, Default, Serialize, Deserialize)]
struct Remembered {
    /// The server of the last login.
    server: Option<String>,
    /// The logins, by the server's address.
    #[serde(default)]
    logins: BTreeMap<String, Login>,
}

/// A login to a server.
#[derive(Clone, Serialize, Deserialize)]
pub struct Login {
    /// The session's token.
    pub token: String,
    /// The user's name.
    pub user: String,
    /// The chat used last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<String>,
}

/// A server, and the login there.
#[derive(Clone)]
pub struct Session {
    path: PathBuf,
    remembered: Remembered,
    /// The server's address, without a slash at its end.
    pub server: String,
    /// Certificates to trust besides this machine's own, a PEM file.
    ca_cert: Option<PathBuf>,
    /// A program's key, used instead of a login.
    api_key: Option<String>,
    /// The `sandbridge here` that this chat joined, whose process ends the server.
    joined: Option<Joined>,
    /// The language of the server's texts, if one was chosen.
    language: Option<Language>,
}

/// A `sandbridge here` of another process.
#[derive(Clone)]
pub(super) struct Joined {
    pid: u32,
    directory: PathBuf,
}

impl Joined {
    /// The text to print once that process has ended; `None` while it runs.
    fn farewell(&self) -> Option<String> {
        if Path::new("/proc").join(self.pid.to_string()).exists() {
            return None;
        }
        let directory = self.directory.display();
        Some(format!(
            "The `sandbridge here` that this chat joined has ended. Ctrl+D quits; to start it again: sandbridge here {directory}"
        ))
    }
}

impl Session {
    /// Reads the stored state in `home`; `configured` is the configured server, if any.
    pub fn load(home: &Path, configured: Option<&str>, ca_cert: Option<PathBuf>) -> Result<Self, Failure> {
        let path = home.join(FILE_NAME);
        let remembered: Remembered = match std::fs::read(&path) {
            Ok(json) => serde_json::from_slice(&json).map_err(|error| {
                let message = format!("{} is damaged ({error}); delete it and log in again", path.display());
                Failure::other("invalid", message)
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => Remembered::default(),
            Err(error) => {
                return Err(Failure::other("io", format!("cannot read {}: {error}", path.display())));
            }
        };
        let server = configured.or(remembered.server.as_deref()).unwrap_or(DEFAULT_SERVER);
        let server = server.trim_end_matches('/').to_owned();
        Ok(Self { path, remembered, server, ca_cert, api_key: None, joined: None, language: None })
    }

    /// Stores a login in a home directory whose only server has another address at every start: it replaces earlier logins, and keeps the
    /// chat used last. Also returns the earlier token.
    pub fn renew(
        home: &Path,
        server: &str,
        user: &str,
        token: String,
    ) -> Result<(Self, Option<String>), Failure> {
        let mut session = Self::load(home, None, None)?;
        let former = session.login().cloned();
        session.remembered.logins.clear();
        server.clone_into(&mut session.server);
        let chat = former.as_ref().and_then(|former| former.chat.clone());
        session.remember(Login { token, user: user.to_owned(), chat })?;
        Ok((session, former.map(|former| former.token)))
    }

    /// The same session with this language.
    pub(super) fn with_language(self, language: Language) -> Self {
        Self { language: Some(language), ..self }
    }

    /// The chosen language of the server's texts.
    pub(super) fn language(&self) -> Option<Language> {
        self.language
    }

    /// The same session for a chat that joined the `sandbridge here` whose process has this id.
    pub fn joining(self, pid: u32, directory: &Path) -> Self {
        Self { joined: Some(Joined { pid, directory: directory.to_owned() }), ..self }
    }

    /// The text to print once the `sandbridge here` that this chat joined has ended; `None` while it runs, and if the chat joined none.
    pub fn farewell(&self) -> Option<String> {
        self.joined.as_ref().and_then(Joined::farewell)
    }

    /// The same session with a program's key, if one is given: the key takes precedence over the login.
    pub fn with_api_key(self, api_key: Option<String>) -> Self {
        Self { api_key, ..self }
    }

    /// True if a program's key is used in place of a login.
    pub fn has_api_key(&self) -> bool {
        self.api_key.is_some()
    }

    /// The server's address.
    pub(crate) fn endpoint(&self) -> Result<Endpoint, Failure> {
        Endpoint::parse(&self.server, self.ca_cert.clone())
    }

    /// The login to the server, if there is one.
    pub fn login(&self) -> Option<&Login> {
        self.remembered.logins.get(&self.server)
    }

    /// The token for the server.
    pub fn token(&self) -> Result<&str, Failure> {
        let not_logged_in = || {
            let hint = format!("run `sandbridge login --server {} --user NAME`", self.server);
            Failure::other("unauthorized", format!("not logged in to {}; {hint}", self.server))
        };
        let of_login = || self.login().map(|login| login.token.as_str());
        self.api_key.as_deref().or_else(of_login).ok_or_else(not_logged_in)
    }

    /// Stores a login; the server becomes the default.
    pub fn remember(&mut self, login: Login) -> Result<(), Failure> {
        self.remembered.server = Some(self.server.clone());
        self.remembered.logins.insert(self.server.clone(), login);
        self.save()
    }

    /// Removes the login.
    pub fn forget(&mut self) -> Result<(), Failure> {
        self.remembered.logins.remove(&self.server);
        self.save()
    }

    /// Stores the chat used last.
    pub fn remember_chat(&mut self, chat: &str) -> Result<(), Failure> {
        match self.remembered.logins.get_mut(&self.server) {
            Some(login) if login.chat.as_deref() != Some(chat) => login.chat = Some(chat.to_owned()),
            Some(_) | None => return Ok(()),
        }
        self.save()
    }

    fn save(&self) -> Result<(), Failure> {
        self.write().map_err(|error| {
            Failure::other(
                "io",
                format!(
                    "cannot write {}: {error}; check that its folder belongs to you",
                    self.path.display()
                ),
            )
        })
    }

    /// Replaces the file in one step, so that two simultaneous calls never leave half a file.
    fn write(&self) -> std::io::Result<()> {
        if let Some(home) = self.path.parent() {
            std::fs::create_dir_all(home)?;
        }
        atomic_file::write(&self.path, &serde_json::to_vec_pretty(&self.remembered)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn home() -> PathBuf {
        let home = std::env::temp_dir().join(format!("sandbridge-session-{:016x}", rand::random::<u64>()));
        std::fs::create_dir(&home).unwrap();
        home
    }

    #[test]
    fn a_chat_knows_when_the_here_that_it_joined_has_ended() {
        let home = tempfile::tempdir().unwrap();
        let session = || Session::load(home.path(), None, None).unwrap();
        assert_eq!(session().farewell(), None, "it joined none");
        let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let joined = session().joining(other.id(), Path::new("/work dir"));
        assert_eq!(joined.farewell(), None, "it runs");
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(joined.farewell().unwrap().ends_with("sandbridge here /work dir"));
    }

    #[test]
    fn a_login_is_remembered_for_its_server_alone_and_readable_by_its_owner_alone() {
        let home = home();
        let mut session = Session::load(&home, Some("http://one:1/"), None).unwrap();
        assert!(session.token().unwrap_err().message.contains("sandbridge login --server http://one:1"));
        session.remember(Login { token: "t".to_owned(), user: "ada".to_owned(), chat: None }).unwrap();
        session.remember_chat("c").unwrap();
        let mode = std::fs::metadata(home.join(FILE_NAME)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let again = Session::load(&home, None, None).unwrap();
        assert_eq!((again.server.as_str(), again.token().unwrap()), ("http://one:1", "t"));
        assert_eq!(again.login().unwrap().chat.as_deref(), Some("c"));
        assert!(Session::load(&home, Some("http://two:2"), None).unwrap().token().is_err());
        session.forget().unwrap();
        assert!(Session::load(&home, None, None).unwrap().token().is_err());
        assert_eq!(std::fs::read_dir(&home).unwrap().count(), 1, "no other file is left");
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn a_key_stands_in_the_place_of_a_login_and_is_not_written_down() {
        let home = home();
        let mut session = Session::load(&home, None, None).unwrap().with_api_key(Some("sbk_x".to_owned()));
        assert_eq!(session.token().unwrap(), "sbk_x");
        session.remember(Login { token: "t".to_owned(), user: "ada".to_owned(), chat: None }).unwrap();
        assert_eq!(session.token().unwrap(), "sbk_x");
        assert!(!std::fs::read_to_string(home.join(FILE_NAME)).unwrap().contains("sbk_x"));
        std::fs::remove_dir_all(&home).unwrap();
    }

    #[test]
    fn the_default_server_is_this_machine() {
        let home = home();
        assert_eq!(Session::load(&home, None, None).unwrap().server, DEFAULT_SERVER);
        std::fs::remove_dir_all(&home).unwrap();
    }
}
