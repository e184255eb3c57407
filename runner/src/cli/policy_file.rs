//! The policy file: the runner user's rules for commands, in TOML with comments.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};

use super::place;
use crate::bounds::{Bounds, Bytes, Cpus, HttpHost, Limits, LimitsBy, Network, Reach};
use crate::error::Error;
use crate::layers::Profile;
use crate::limits::POLICY_FILE_BYTES;

/// The default path of the file, below the user's configuration directory.
const DEFAULT_PATH: &str = "sandbridge/runner.toml";

/// The policy file's keys; all are optional.
#[derive(Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyFile {
    #[serde(default, deserialize_with = "profile")]
    pub(super) profile: Option<Profile>,
    #[serde(default, deserialize_with = "path")]
    pub(super) workspace: Option<PathBuf>,
    #[serde(default, deserialize_with = "paths")]
    pub(super) allow_read: Vec<PathBuf>,
    #[serde(default, deserialize_with = "paths")]
    pub(super) allow_write: Vec<PathBuf>,
    pub(super) allow_git_config: Option<bool>,
    network: Option<Reach>,
    #[serde(default)]
    allow_net: Vec<u16>,
    memory: Option<Bytes>,
    pids: Option<u32>,
    limits_by: Option<LimitsBy>,
    cpus: Option<Cpus>,
    open_files: Option<u32>,
    file_size: Option<Bytes>,
    #[serde(default)]
    download_allow: Vec<String>,
    #[serde(default)]
    http_allow: Vec<HttpHost>,
    // For a new key: a line here, and one where `SandboxOptions::executor_config` gives its flag precedence.
}

impl PolicyFile {
    /// Networks and resources of commands.
    pub(super) fn bounds(&self) -> Bounds {
        let Self { memory, pids, limits_by: by, cpus, open_files, file_size, .. } = *self;
        Bounds {
            network: Network { reach: self.network.unwrap_or_default(), ports: self.allow_net.clone() },
            limits: Limits { memory, pids, by, cpus, open_files, file_size },
            download_allow: self.download_allow.clone(),
            http_allow: self.http_allow.clone(),
        }
    }

    /// The named file, or the user's own if that applies and exists, with its canonical path.
    ///
    /// # Errors
    /// The file is named but missing, others may write it, or it is invalid; the text names the line.
    pub(super) fn find(named: Option<&Path>, or_own: bool) -> Result<Option<(PathBuf, Self)>, Error> {
        let own = || if or_own { default_path() } else { None };
        let Some(path) = named.map(Path::to_owned).or_else(own) else { return Ok(None) };
        let path = path.canonicalize().map_err(Error::file(&path))?;
        check_writers(&path)?;
        let text = fs::read_to_string(&path).map_err(Error::file(&path))?;
        let keys = toml::from_str(text.trim_start_matches('\u{feff}'));
        let keys =
            keys.map_err(|error| Error::Usage(format!("the policy file {}: {error}", path.display())))?;
        Ok(Some((path, keys)))
    }
}

fn default_path() -> Option<PathBuf> {
    let configuration = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let configuration = configuration.filter(|path| path.is_absolute());
    let configuration = configuration.or_else(|| place::home().map(|home| home.join(".config")))?;
    Some(configuration.join(DEFAULT_PATH)).filter(|path| path.exists())
}

/// Refuses a file that another user could have written or replaced.
fn check_writers(path: &Path) -> Result<(), Error> {
    let refuse = |what: &Path, why: &str| {
        let text = format!("the policy file {}: {} {why}", path.display(), what.display());
        Err(Error::Usage(text))
    };
    let file = fs::metadata(path).map_err(Error::file(path))?;
    if !file.is_file() || file.len() > POLICY_FILE_BYTES {
        return refuse(path, "is not a regular file, or is too large");
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let directory = path.parent().unwrap_or(path);
    for (what, found) in
        [(path, &file), (directory, &fs::metadata(directory).map_err(Error::file(directory))?)]
    {
        if found.uid() != user && found.uid() != 0 {
            return refuse(what, "belongs to another user: take it over with chown");
        }
        // In a sticky directory no other user can replace the file.
        let is_sticky = found.is_dir() && found.mode() & 0o1000 != 0;
        let others = found.mode() & 0o002 != 0 || found.mode() & 0o020 != 0 && found.gid() != group;
        if others && !is_sticky {
            return refuse(what, "can be written by others: restrict it with chmod go-w");
        }
    }
    Ok(())
}

fn profile<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Profile>, D::Error> {
    let name = String::deserialize(value)?;
    name.parse().map(Some).map_err(serde::de::Error::custom)
}

fn path<'de, D: Deserializer<'de>>(value: D) -> Result<Option<PathBuf>, D::Error> {
    expand(String::deserialize(value)?).map(Some).map_err(serde::de::Error::custom)
}

fn paths<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<PathBuf>, D::Error> {
    let paths = Vec::<String>::deserialize(value)?;
    paths.into_iter().map(expand).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
}

/// A path in the file, with `~/` for the home directory: there is no other directory that it could be relative to.
fn expand(text: String) -> Result<PathBuf, String> {
    let path = match text.strip_prefix("~/") {
        Some(rest) => {
            place::home().ok_or("~/ has no meaning here, because no home directory is known")?.join(rest)
        }
        None => PathBuf::from(&text),
    };
    if path.is_absolute() { Ok(path) } else { Err(format!("\"{text}\" must begin with / or ~/")) }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn find(text: &[u8], mode: u32) -> Result<PolicyFile, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("runner.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        PolicyFile::find(Some(&path), true).map(|found| found.unwrap().1).map_err(|error| error.to_string())
    }

    #[test]
    fn keys_are_read_between_comments_whatever_the_editor_left() {
        let text = "\u{feff}# mine\r\nprofile = \"read-only\"\r\nallow_write = [\r\n  \"/a\", # here\r\n  \"~/b\",\r\n]\r\n";
        let keys = find(text.as_bytes(), 0o600).unwrap();
        assert_eq!(keys.profile, Some(Profile::ReadOnly));
        assert_eq!(keys.allow_write, [PathBuf::from("/a"), place::home().unwrap().join("b")]);
        assert_eq!(find(b"", 0o400).unwrap(), PolicyFile::default());
    }

    #[test]
    fn what_is_not_understood_is_named_with_its_line() {
        for (text, expected) in [
            ("\n\nallow_reed = []", "line 3"),
            ("profile = \"wide\"", "full-control"),
            ("profile = 3", "line 1"),
            ("allow_read = [\"relative\"]", "must begin with /"),
            ("allow_read = \"/a\"", "line 1"),
            ("allow_git_config = \"yes\"", "line 1"),
            ("workspace = ", "line 1"),
            ("http_allow = [\"http://a\"]", "--http-allow"),
            ("profile = \"workspace\"\nprofile = \"workspace\"", "line 2"),
        ] {
            let error = find(text.as_bytes(), 0o600).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
        assert!(find(b"\xff\xfe", 0o600).is_err());
        assert!(find(&vec![b'#'; POLICY_FILE_BYTES as usize + 1], 0o600).is_err());
    }

    #[test]
    fn a_file_that_others_can_write_is_refused_with_advice() {
        assert!(find(b"", 0o666).unwrap_err().contains("chmod"));
        assert!(find(b"", 0o644).is_ok());
        assert!(PolicyFile::find(Some(Path::new("/nonexistent/runner.toml")), true).is_err());
        let shared = tempfile::tempdir().unwrap();
        fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o777)).unwrap();
        let path = shared.path().join("runner.toml");
        fs::write(&path, "").unwrap();
        assert!(PolicyFile::find(Some(&path), true).unwrap_err().to_string().contains("chmod"));
    }
}
