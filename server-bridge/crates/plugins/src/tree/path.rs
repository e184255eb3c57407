//! Paths within a plugin: relative, plain, and the same on every machine.

use std::fmt;

use crate::limits::{PATH_BYTES, PATH_DEPTH, PATH_NAME_BYTES};
use crate::text::{is_unseen, quoted};

/// The reason for refusing a path that is not relative.
const ABSOLUTE: &str = "is absolute; paths start at the plugin's root";

/// A path within a plugin: names joined by `/`, none of them `.` or `..`; empty for the plugin's root.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PluginPath(String);

/// The reason why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the path {path} {reason}")]
pub struct PathError {
    /// The path, shortened and with invisible characters written out.
    pub path: String,
    /// The reason why it is refused.
    pub reason: &'static str,
}

impl PluginPath {
    /// Reads a path as it is written in archives and manifests: a leading `./` and a trailing `/` are ignored.
    ///
    /// # Errors
    ///
    /// Fails if the path is absolute or leads out of the plugin, or if its names are not plain.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let refused = |reason| PathError { path: quoted(text), reason };
        if text.contains('\0') {
            return Err(refused("contains a NUL character"));
        }
        if text.starts_with('/') {
            return Err(refused(ABSOLUTE));
        }
        if text.contains('\\') {
            return Err(refused("contains a backslash; names are joined by `/`"));
        }
        let names: Vec<&str> = text.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        if names.contains(&"..") {
            return Err(refused("leads out of the plugin: `..` is not allowed"));
        }
        if text.chars().any(is_unseen) {
            return Err(refused(
                "contains a character that cannot be seen or that changes the direction of writing",
            ));
        }
        if names.iter().any(|name| name.trim() != *name) {
            return Err(refused("has a name with blanks at its beginning or end"));
        }
        if names.len() > PATH_DEPTH || names.iter().any(|name| name.len() > PATH_NAME_BYTES) {
            return Err(refused("is too deep, or has too long a name"));
        }
        let path = names.join("/");
        // A home directory or a drive, even after `./`: programs may interpret it as one.
        let is_drive = path.as_bytes().get(1) == Some(&b':') && path.as_bytes()[0].is_ascii_alphabetic();
        if path.starts_with('~') || is_drive {
            return Err(refused(ABSOLUTE));
        }
        if path.len() > PATH_BYTES {
            return Err(refused("is too long"));
        }
        Ok(Self(path))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True for the plugin's root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last name; empty for the root.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The directory that contains this path.
    pub fn parent(&self) -> Self {
        Self(self.0.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned()))
    }

    /// The path of an entry in this directory.
    pub(crate) fn join(&self, rest: &str) -> Self {
        Self(if self.is_root() { rest.to_owned() } else { format!("{}/{rest}", self.0) })
    }

    /// The rest of the path below a directory; `None` if it is elsewhere.
    pub fn below<'a>(&'a self, directory: &Self) -> Option<&'a str> {
        if directory.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(directory.as_str())?.strip_prefix('/')
    }

    /// The path as seen by a machine that does not distinguish upper and lower case.
    pub(crate) fn folded(&self) -> String {
        // In both directions, because some letters have a counterpart in one direction only.
        self.0.to_lowercase().to_uppercase().to_lowercase()
    }
}

impl fmt::Display for PluginPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.is_root() { "." } else { &self.0 })
    }
}
