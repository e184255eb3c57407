//! The runner user's settings that commands get: copies without credentials in their private home, and variables.
//!
//! | module | holds |
//! |---|---|
//! | `tables` | the files, names and variables |
//! | `filter` | one filter for all formats |
//! | `secrets` | recognising values with credentials |
//!
//! The first line of a copy marks it as one, with a hash of the rest: once a command has changed it, it is left alone.

mod filter;
mod secrets;
mod tables;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pathguard::{CreateOptions, Root};
use sha2::{Digest, Sha256};

use crate::account::Account;
use crate::limits::SETTINGS_FILE_BYTES;
use filter::{Grammar, filter, fits};
use secrets::holds_secret;
use tables::{
    ALL_BUT_CREDENTIALS, BASES, FILES, GIT_CONFIG, OF_MACHINE, PATH_VARIABLES, SettingsFile, VARIABLES,
};

/// The beginning of a copy's first line, in every format.
const MARK: &str = "# copied by sandbridge-runner without credentials; yours once you change it: ";

/// The outcome of copying one file of the user's settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The program that reads it.
    pub program: &'static str,
    /// Details for people: its source, and what was left out.
    pub detail: String,
    /// True if commands have everything of it that they may have.
    pub is_copied: bool,
}

/// The runner's own variables that commands get.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Names and values.
    pub variables: Vec<(String, OsString)>,
    /// The reasons why some were left out; without their values.
    pub withheld: Vec<String>,
}

/// The user whose settings commands get.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner<'a> {
    /// The user's own home directory.
    pub(crate) home: &'a Path,
    /// The directory that commands work in.
    pub(crate) workspace: &'a Path,
    /// The user, if not the runner's.
    pub(crate) run_as: Option<&'a Account>,
}

/// Copies the user's settings into the private home; to be called before any thread is confined.
///
/// Nothing that goes wrong here is an error: commands then lack settings.
pub(crate) fn copy(owner: Owner<'_>, private_home: &Path) -> Vec<Copied> {
    // The path there is under the runner's control.
    let Ok(root) = Root::open(private_home) else { return Vec::new() };
    // Files are read with the rights of the user that commands run as, and the copies are that user's.
    match owner.run_as {
        Some(user) => user.acting(|| copy_all(owner, &root)).unwrap_or_default(),
        None => copy_all(owner, &root),
    }
}

fn copy_all(owner: Owner<'_>, root: &Root) -> Vec<Copied> {
    let variable = |name: &str| std::env::var_os(name);
    let mut copied: Vec<Copied> =
        FILES.iter().filter_map(|file| copy_file(file, owner, root, &variable)).collect();
    // This file exists so that `git config --global` in a command writes to it, and not to the copy.
    if root.stat(".gitconfig") == Err(pathguard::Error::NotFound)
        && let Err(error) = write(root, ".gitconfig", "")
    {
        copied.push(Copied { program: "git", detail: format!("~/.gitconfig: {error}"), is_copied: false });
    }
    copied
}

fn copy_file(
    file: &SettingsFile,
    owner: Owner<'_>,
    root: &Root,
    variable: &impl Fn(&str) -> Option<OsString>,
) -> Option<Copied> {
    let tell = |is_copied, detail: String| Some(Copied { program: file.program, detail, is_copied });
    let (mut text, mut notes, mut is_copied) = (String::new(), Vec::new(), true);
    for source in sources(file, owner.home, variable) {
        let filtered = read(&source, owner.home).and_then(|text| filter(&text, file.grammar, file.rules));
        match filtered {
            Ok(found) => {
                let withheld = match found.withheld.as_slice() {
                    [] => String::new(),
                    names => format!(" without {}", names.join(", ")),
                };
                notes.push(format!("{}{withheld}", source.display()));
                text.push_str(&found.text);
            }
            Err(why) => {
                is_copied = false;
                notes.push(format!("{}: {why}", source.display()));
            }
        }
    }
    if file.to == GIT_CONFIG {
        text.push_str(&trusted_workspace(owner));
    }
    match replace(root, file.to, &text) {
        Ok(true) if notes.is_empty() => None,
        Ok(true) => tell(is_copied, notes.join("; ")),
        Ok(false) => tell(true, format!("~/{} was changed by a command and is left alone", file.to)),
        Err(error) => tell(false, format!("~/{}: {error}", file.to)),
    }
}

/// The existing files, in order of precedence.
fn sources(file: &SettingsFile, home: &Path, variable: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let named = Some(file.variable).filter(|name| !name.is_empty()).and_then(variable).map(PathBuf::from);
    if let Some(named) = named.filter(|path| path.is_absolute()) {
        return if named.exists() { vec![named] } else { Vec::new() };
    }
    let place = |from: &&str| match from.strip_prefix('$').and_then(|rest| rest.split_once('/')) {
        None => home.join(from),
        Some((name, rest)) => {
            let usual = BASES.iter().find(|(base, _)| *base == name).map_or("", |(_, usual)| usual);
            let base = variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
            base.unwrap_or_else(|| home.join(usual)).join(rest)
        }
    };
    let places = file.from.iter().map(place).filter(|path| fs::symlink_metadata(path).is_ok());
    if file.all_count { places.collect() } else { places.take(1).collect() }
}

/// Reads a file of the user, up to a sensible size; one in the home that leads out of it does not count as the user's
/// settings.
fn read(path: &Path, home: &Path) -> Result<String, String> {
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    if path.starts_with(&home) && !real.starts_with(&home) {
        return Err("it is a link that leads out of the home directory".to_owned());
    }
    let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(&real);
    let file = file.map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if !metadata.is_file() || metadata.len() > SETTINGS_FILE_BYTES {
        return Err("it is not a regular file, or is too large".to_owned());
    }
    let mut text = String::new();
    let read = file.take(SETTINGS_FILE_BYTES).read_to_string(&mut text);
    read.map(|_| text).map_err(|_| "it cannot be read as text".to_owned())
}

/// The setting that lets git work in a workspace that belongs to another user.
fn trusted_workspace(owner: Owner<'_>) -> String {
    let workspace = owner.workspace;
    let user = owner.run_as.map_or_else(|| rustix::process::geteuid().as_raw(), |user| user.user_id);
    let is_own = fs::metadata(workspace).is_ok_and(|metadata| metadata.uid() == user);
    match workspace.to_str().filter(|text| !is_own && !text.contains(char::is_control)) {
        None => String::new(),
        Some(text) => {
            format!("[safe]\n\tdirectory = \"{}\"\n", text.replace('\\', "\\\\").replace('"', "\\\""))
        }
    }
}

/// Puts a copy in place, or removes an old one; false if a command has changed it.
fn replace(root: &Root, path: &str, text: &str) -> pathguard::Result<bool> {
    let present = match root.open_file(path) {
        Ok(file) => {
            let mut present = String::new();
            let read = file.into_file().take(SETTINGS_FILE_BYTES).read_to_string(&mut present);
            if read.is_err() || !is_copy(&present) {
                return Ok(false);
            }
            Some(present)
        }
        Err(pathguard::Error::NotFound) => None,
        Err(error) => return Err(error),
    };
    if text.is_empty() {
        return present.map_or(Ok(()), |_| root.remove(path)).map(|()| true);
    }
    let marked = format!("{MARK}{}\n{text}", digest(text));
    if present.as_ref() != Some(&marked) {
        write(root, path, &marked)?;
    }
    Ok(true)
}

fn write(root: &Root, path: &str, text: &str) -> pathguard::Result<()> {
    let mut pending = root.create_file(path, CreateOptions { mode: Some(0o600), parents: true })?;
    pending.write_all(text.as_bytes())?;
    pending.commit().map(drop)
}

fn is_copy(text: &str) -> bool {
    let rest = text.strip_prefix(MARK).and_then(|rest| rest.split_once('\n'));
    rest.is_some_and(|(hash, body)| hash == digest(body))
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The part of a file of `/etc` that commands may read: credentials are removed from a settings file.
pub(crate) fn of_machine(name: &str, content: Vec<u8>) -> Vec<u8> {
    match OF_MACHINE.iter().find(|(known, _)| *known == name) {
        None => content,
        Some((_, grammar)) => sift(*grammar, &content).into_bytes(),
    }
}

/// True if a file of `/etc` may be read unchanged.
pub(crate) fn is_harmless(name: &str, path: &Path) -> bool {
    let Some((_, grammar)) = OF_MACHINE.iter().find(|(known, _)| *known == name) else { return true };
    fs::read(path).is_ok_and(|content| {
        let text = String::from_utf8_lossy(&content);
        filter(&text, *grammar, ALL_BUT_CREDENTIALS).is_ok_and(|found| found.withheld.is_empty())
            && !["_auth", "_password", "token"].iter().any(|word| text.to_ascii_lowercase().contains(word))
    })
}

fn sift(grammar: Grammar, content: &[u8]) -> String {
    let filtered = filter(&String::from_utf8_lossy(content), grammar, ALL_BUT_CREDENTIALS);
    filtered.map(|filtered| filtered.text).unwrap_or_default()
}

/// The runner's variables that commands get; `sees` returns whether commands can read a path.
pub fn passed(variables: impl Iterator<Item = (OsString, OsString)>, sees: impl Fn(&Path) -> bool) -> Passed {
    let mut passed = Passed::default();
    for (name, value) in variables {
        let Some(name) = name.to_str() else { continue };
        let is_listed = |list: &[&str]| list.iter().any(|listed| fits(listed.as_bytes(), name.as_bytes()));
        let is_path = is_listed(PATH_VARIABLES);
        if value.is_empty() || !is_path && !is_listed(VARIABLES) || name.contains("TOKEN") {
            continue;
        }
        if holds_secret(&String::from_utf8_lossy(value.as_bytes())) {
            passed.withheld.push(format!("{name}: its value holds credentials"));
        } else if is_path && !sees(Path::new(&value)) {
            let place = Path::new(&value).display();
            passed.withheld.push(format!("{name}: commands cannot read {place} (--allow-read lets them)"));
        } else {
            passed.variables.push((name.to_owned(), value));
        }
    }
    passed.variables.sort();
    passed.withheld.sort();
    passed
}
