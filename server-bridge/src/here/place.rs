//! The directory that commands work in, and its home.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use client::failure::Failure;
use sha2::{Digest, Sha256};
use store::RunnerName;
use store::hex;

use super::limits::{HOME_HASH_BYTES, HOME_NAME_CHARS};

/// The folder in the home directory for the homes of all directories.
const FOLDER: &str = "here";
/// The runner's name if the directory's name is not valid for a runner.
const UNNAMED: &str = "here";

/// A directory and its home.
#[derive(Debug)]
pub(super) struct Place {
    /// The directory's canonical path.
    pub(super) directory: PathBuf,
    /// The home directory of its server.
    pub(super) home: PathBuf,
    /// The name of the directory's runner.
    pub(super) runner: RunnerName,
}

impl Place {
    /// Checks the directory and creates its home.
    pub(super) fn find(home: &Path, directory: Option<&Path>) -> Result<Self, Failure> {
        let given = directory.unwrap_or(Path::new("."));
        let unusable =
            |error| Failure::usage(format!("cannot work in {}: {error}; name a directory", given.display()));
        let directory = given.canonicalize().map_err(unusable)?;
        if !directory.is_dir() {
            return Err(unusable(std::io::ErrorKind::NotADirectory.into()));
        }
        let invalid = |error: home::Error| Failure::other("invalid", error.to_string());
        refuse_what_holds_too_much(&directory)?;
        // Checked before anything is created in the home directory.
        let absolute =
            std::path::absolute(home).map_err(|error| Failure::other("invalid", error.to_string()))?;
        refuse_own_files(&directory, &absolute.canonicalize().unwrap_or(absolute))?;
        let (runner, name) = names(&directory);
        let home = home.to_owned();
        home::ensure(&home).map_err(invalid)?;
        let folder = home.join(FOLDER);
        home::ensure(&folder).map_err(invalid)?;
        let home = folder.join(name);
        home::ensure(&home).map_err(invalid)?;
        let home = home.canonicalize().map_err(unusable)?;
        // Checked again with canonical paths: the home's path may contain a link.
        refuse_own_files(&directory, &home)?;
        Ok(Self { directory, home, runner })
    }

    /// The homes of the other directories.
    pub(super) fn others(&self) -> Vec<PathBuf> {
        let entries = self.home.parent().and_then(|folder| std::fs::read_dir(folder).ok());
        let paths = entries.into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(|path| *path != self.home).collect()
    }
}

/// Refuses the directories that a runner refuses too, unless they are named explicitly.
fn refuse_what_holds_too_much(directory: &Path) -> Result<(), Failure> {
    let own = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    if directory == Path::new("/") || own.is_some_and(|own| own == directory) {
        return Err(Failure::usage(format!(
            "commands could change everything in {}; change to a project's directory, or name one",
            directory.display()
        )));
    }
    Ok(())
}

/// Refuses a directory from which commands could reach the store or the keys next to it.
fn refuse_own_files(directory: &Path, home: &Path) -> Result<(), Failure> {
    if home.starts_with(directory) || directory.starts_with(home) {
        return Err(Failure::usage(format!(
            "commands in {} could reach {}, where your chats and keys are kept; name another directory, or another home with \
             --home DIR",
            directory.display(),
            home.display()
        )));
    }
    Ok(())
}

/// The names of a directory's runner and home, derived from the directory's name.
fn names(directory: &Path) -> (RunnerName, String) {
    let last = directory.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_.-".contains(character);
    let plain: String =
        last.chars().map(|character| if is_plain(character) { character } else { '-' }).collect();
    let plain: String = plain
        .trim_start_matches(|first: char| !first.is_ascii_alphanumeric())
        .chars()
        .take(HOME_NAME_CHARS)
        .collect();
    let runner = RunnerName::parse(&plain)
        .unwrap_or_else(|_| RunnerName::parse(UNNAMED).expect("it follows the rule for names"));
    let digest = Sha256::digest(directory.as_os_str().as_bytes());
    let home = format!("{}-{}", runner.as_str(), hex(&digest[..HOME_HASH_BYTES]));
    (runner, home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_and_its_runner_have_the_same_name_where_it_can_be_one() {
        for (directory, name) in [
            ("/src/project", "project"),
            ("/src/My Project!", "my-project-"),
            ("/src/.dotted", "dotted"),
            ("/src/none", "here"),
            ("/src/日本", "here"),
        ] {
            assert_eq!(names(Path::new(directory)).0.as_str(), name, "{directory}");
        }
        let long = format!("/src/{}", "x".repeat(200));
        assert_eq!(names(Path::new(&long)).0.as_str().len(), HOME_NAME_CHARS);
        assert_ne!(names(Path::new("/a/project")).1, names(Path::new("/b/project")).1);
    }

    #[test]
    fn a_directory_that_holds_the_chats_is_refused_before_anything_is_made() {
        let outer = tempfile::tempdir().unwrap();
        let home = outer.path().join("home");
        for directory in [outer.path().to_owned(), PathBuf::from("/")] {
            let failure = Place::find(&home, Some(&directory)).unwrap_err();
            assert_eq!(failure.kind, "usage", "{}", failure.message);
        }
        assert!(!home.exists());
        let beside = tempfile::tempdir().unwrap();
        let place = Place::find(&home, Some(beside.path())).unwrap();
        let failure = Place::find(&home, Some(&place.home)).unwrap_err();
        assert!(failure.message.contains("--home"), "{}", failure.message);
        let failure = Place::find(&home, Some(Path::new("/nonexistent/place"))).unwrap_err();
        assert!(failure.message.contains("/nonexistent/place"), "{}", failure.message);
    }
}
