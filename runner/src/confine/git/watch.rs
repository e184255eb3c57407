//! Keeps a held repository valid, so that git does not look for another.
//!
//! If `.git` is not a valid repository, git examines the directory itself next: one with `HEAD`, `objects` and `refs` counts as a bare repository,
//! and its `config` may name a work tree and programs. `HEAD` must stay writable for commands, as git renames a new one onto it. So it is checked
//! after each command, and now and then while one runs: a missing or invalid one is restored, and the parts of a bare repository next to `.git` are
//! renamed. In between, and in directories below, only the user's git can refuse: see [`refuses_bare`].

use std::cell::RefCell;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, Stat, Uid};

use crate::limits::GIT_HEAD_BYTES;
use crate::programs;

/// The suffix of a directory that was renamed out of git's way.
const ASIDE: &str = ".sandbridge-moved-aside";

/// The entries that make a directory a bare repository, in addition to `HEAD`: either of these.
const BARE: &[&[&str]] = &[&["objects", "refs"], &["commondir"]];

/// The subdirectories that git must be able to enter; their modes are watched and restored.
const DIRECTORIES: &[&str] = &["objects", "refs"];

/// The repositories that are watched.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    repositories: Vec<RefCell<Repository>>,
}

#[derive(Debug)]
struct Repository {
    path: PathBuf,
    directory: OwnedFd,
    /// The modes of the directory itself, then of its subdirectories.
    modes: [u32; 1 + DIRECTORIES.len()],
    head: Head,
    /// The file it was read from, and its last modification.
    seen: Version,
    work_tree: OwnedFd,
    /// True if the work tree looked like a bare repository from the beginning: then it is also held as one.
    is_bare_too: bool,
}

/// The content of `HEAD`, in one of its two forms.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Head {
    Text(Vec<u8>),
    Link(CString),
}

type Version = (u64, i64, i64);

impl Watch {
    /// Watches the repositories with these own directories; call this before commands run.
    pub(crate) fn new(directories: &[PathBuf]) -> Self {
        let repositories = directories.iter().filter_map(|path| Repository::open(path).ok());
        Self { repositories: repositories.map(RefCell::new).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.repositories.is_empty()
    }

    /// Checks all of them; returns what had to be repaired.
    pub(crate) fn look(&self) -> Vec<String> {
        let mut told = Vec::new();
        for repository in &self.repositories {
            repository.borrow_mut().look(&mut told);
        }
        told
    }
}

impl Repository {
    fn open(path: &Path) -> io::Result<Self> {
        let open = |path: &Path| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from)
        };
        let (directory, work_tree) = (open(path)?, open(path.parent().unwrap_or(path))?);
        let (head, seen) = read_head(&directory)?;
        let modes = modes(&directory)?;
        let is_bare_too = is_bare(&work_tree);
        Ok(Self { path: path.to_owned(), directory, modes, head, seen, work_tree, is_bare_too })
    }

    fn look(&mut self, told: &mut Vec<String>) {
        let is_bare = !self.is_bare_too && is_bare(&self.work_tree);
        if self.is_open() && !is_bare && self.head_is_fine().is_ok() {
            return;
        }
        let git = self.path.display().to_string();
        match self.open_up() {
            Ok(false) => {}
            Ok(true) => {
                told.push(format!("{git} was closed to git, and its earlier permissions are restored"))
            }
            Err(error) => told.push(format!(
                "{git} is closed to git, and its earlier permissions could not be restored: {error}"
            )),
        }
        match self.head_is_fine() {
            Ok(()) => {}
            Err(_) => told.push(match self.put_back() {
                Ok(()) => format!("{git}/HEAD was missing or invalid: it was restored"),
                Err(error) => format!("{git}/HEAD is missing, and could not be restored: {error}"),
            }),
        }
        if is_bare {
            let place = self.path.parent().unwrap_or(&self.path).display();
            let what = "looks like a bare repository, whose configuration git may obey";
            told.push(match move_aside(&self.work_tree) {
                Ok(name) => format!("{place} {what}: HEAD in it is now {name}"),
                Err(error) => format!("{place} {what}, and HEAD in it could not be renamed: {error}"),
            });
        }
    }

    /// True if git may enter every directory that it could enter at startup.
    fn is_open(&self) -> bool {
        modes(&self.directory).is_ok_and(|now| self.modes.iter().zip(now).all(|(was, now)| was & !now == 0))
    }

    /// Restores the rights without which git ignores the repository; returns true if some were missing.
    fn open_up(&self) -> io::Result<bool> {
        if self.is_open() {
            return Ok(false);
        }
        rustix::fs::fchmod(&self.directory, Mode::from_raw_mode(self.modes[0]))?;
        for (name, mode) in DIRECTORIES.iter().zip(&self.modes[1..]) {
            rustix::fs::chmodat(&self.directory, *name, Mode::from_raw_mode(*mode), AtFlags::empty())?;
        }
        Ok(true)
    }

    /// Makes sure that `HEAD` is valid; its current content is what would be restored.
    fn head_is_fine(&mut self) -> io::Result<()> {
        let found = rustix::fs::statat(&self.directory, "HEAD", AtFlags::SYMLINK_NOFOLLOW)?;
        if version(&found) != self.seen {
            (self.head, self.seen) = read_head(&self.directory)?;
        }
        Ok(())
    }

    fn put_back(&mut self) -> io::Result<()> {
        let directory = &self.directory;
        let found = rustix::fs::statat(directory, "HEAD", AtFlags::SYMLINK_NOFOLLOW);
        if found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory) {
            move_aside(directory)?;
        }
        let new = format!("HEAD.{:032x}", rand::random::<u128>());
        match &self.head {
            Head::Link(target) => rustix::fs::symlinkat(target.as_c_str(), directory, &new)?,
            Head::Text(text) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
                let file = rustix::fs::openat(directory, &new, flags, Mode::from_raw_mode(0o644))?;
                File::from(file).write_all(text)?;
            }
        }
        let owner = rustix::fs::fstat(directory)?;
        if rustix::process::geteuid().is_root() {
            let owner = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
            rustix::fs::chownat(directory, &new, Some(owner.0), Some(owner.1), AtFlags::SYMLINK_NOFOLLOW)?;
        }
        rustix::fs::renameat(directory, &new, directory, "HEAD")?;
        (self.head, self.seen) = read_head(directory)?;
        Ok(())
    }
}

fn version(found: &Stat) -> Version {
    (found.st_ino, found.st_ctime, found.st_ctime_nsec as i64)
}

fn modes(directory: &OwnedFd) -> io::Result<[u32; 1 + DIRECTORIES.len()]> {
    let rights = |stat: Stat| stat.st_mode & 0o7777;
    let mut modes = [rights(rustix::fs::fstat(directory)?); 1 + DIRECTORIES.len()];
    for (name, mode) in DIRECTORIES.iter().zip(&mut modes[1..]) {
        *mode = rights(rustix::fs::statat(directory, *name, AtFlags::empty())?);
    }
    Ok(modes)
}

/// Reads `HEAD`; an error if git would not accept it.
fn read_head(directory: &OwnedFd) -> io::Result<(Head, Version)> {
    let found = rustix::fs::statat(directory, "HEAD", AtFlags::SYMLINK_NOFOLLOW)?;
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    let head = match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(directory, "HEAD", Vec::new())?;
            target.as_bytes().starts_with(b"refs/").then_some(Head::Link(target))
        }
        FileType::RegularFile => {
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let file = rustix::fs::openat(directory, "HEAD", flags, Mode::empty())?;
            let mut text = Vec::new();
            File::from(file).take(GIT_HEAD_BYTES).read_to_end(&mut text)?;
            is_head(&text).then_some(Head::Text(text))
        }
        _ => None,
    };
    Ok((head.ok_or_else(invalid)?, version(&found)))
}

/// True if git accepts a text as a `HEAD`: the name of a reference, or of a commit.
fn is_head(text: &[u8]) -> bool {
    match text.strip_prefix(b"ref:") {
        Some(name) => name.trim_ascii_start().starts_with(b"refs/"),
        None => text.len() >= 40 && text[..40].iter().all(u8::is_ascii_hexdigit),
    }
}

/// True if git would treat a directory as a repository's own.
fn is_bare(directory: &OwnedFd) -> bool {
    let has = |name: &str| rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
    has("HEAD") && BARE.iter().any(|names| names.iter().all(|name| has(name)))
}

/// Renames `HEAD` to a name without meaning to git.
fn move_aside(directory: impl AsFd) -> io::Result<String> {
    let name = format!("HEAD{ASIDE}-{:08x}", rand::random::<u32>());
    rustix::fs::renameat(&directory, "HEAD", &directory, &name)?;
    Ok(name)
}

/// True if a repository's own directory has a valid `HEAD`; otherwise git ignores the repository.
pub(super) fn has_head(directory: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::openat(CWD, directory, flags, Mode::empty()).map_err(io::Error::from);
    directory.and_then(|directory| read_head(&directory)).is_ok()
}

/// True if the git of the runner's user obeys no bare repository that it comes across (`safe.bareRepository=explicit`), or there
/// is no git outside of the workspace. Read once per process, only from that user's and the machine's configuration.
pub(in crate::confine) fn refuses_bare(workspace: &Path) -> bool {
    static REFUSES: OnceLock<bool> = OnceLock::new();
    *REFUSES.get_or_init(|| {
        let Some(program) = programs::outside(workspace, "git") else { return true };
        let value = |scope: &str| {
            let mut git = Command::new(&program);
            git.args(["config", scope, "--get", "safe.bareRepository"]).current_dir("/");
            let git = git.env_remove("GIT_DIR").stdin(Stdio::null()).stderr(Stdio::null()).output()?;
            let value = String::from_utf8_lossy(&git.stdout).trim().to_owned();
            Ok::<_, io::Error>((!value.is_empty()).then_some(value))
        };
        match value("--global") {
            Err(error) => error.kind() == io::ErrorKind::NotFound,
            Ok(Some(value)) => value == "explicit",
            Ok(None) => value("--system").ok().flatten().is_some_and(|value| value == "explicit"),
        }
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    const MAIN: &str = "ref: refs/heads/main\n";

    fn project() -> (tempfile::TempDir, PathBuf, Watch) {
        let directory = tempfile::tempdir().unwrap();
        let git = directory.path().join(".git");
        for name in DIRECTORIES {
            fs::create_dir_all(git.join(name)).unwrap();
        }
        fs::write(git.join("HEAD"), MAIN).unwrap();
        let watch = Watch::new(std::slice::from_ref(&git));
        assert_eq!(watch.look(), Vec::<String>::new());
        (directory, git, watch)
    }

    #[test]
    fn a_head_that_is_gone_or_is_none_is_put_back() {
        let (_directory, git, watch) = project();
        let head = git.join("HEAD");
        let damage: [(&str, &dyn Fn()); 6] = [
            ("removed", &|| {}),
            ("empty", &|| fs::write(&head, "").unwrap()),
            ("no reference", &|| fs::write(&head, "ref: elsewhere\n").unwrap()),
            ("a directory", &|| fs::create_dir(&head).unwrap()),
            ("a link to nowhere of git's", &|| symlink("/etc/passwd", &head).unwrap()),
            ("a FIFO", &|| assert!(Command::new("mkfifo").arg(&head).status().unwrap().success())),
        ];
        for (name, damage) in damage {
            fs::remove_file(&head).unwrap();
            damage();
            let told = watch.look();
            assert!(matches!(&told[..], [one] if one.contains("it was restored")), "{name}: {told:?}");
            assert_eq!(fs::read_to_string(&head).unwrap(), MAIN, "{name}");
            assert_eq!(watch.look(), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn what_git_itself_does_with_head_is_left_alone() {
        let (_directory, git, watch) = project();
        for text in ["ref: refs/heads/topic\n", "0123456789012345678901234567890123456789\n"] {
            fs::write(git.join("HEAD.lock"), text).unwrap();
            fs::rename(git.join("HEAD.lock"), git.join("HEAD")).unwrap();
            assert_eq!(watch.look(), Vec::<String>::new(), "{text}");
            fs::remove_file(git.join("HEAD")).unwrap();
            assert_eq!(watch.look().len(), 1);
            assert_eq!(fs::read_to_string(git.join("HEAD")).unwrap(), text, "the newest valid one counts");
        }
        fs::remove_file(git.join("HEAD")).unwrap();
        symlink("refs/heads/main", git.join("HEAD")).unwrap();
        assert_eq!(watch.look(), Vec::<String>::new());
        fs::remove_file(git.join("HEAD")).unwrap();
        watch.look();
        assert_eq!(fs::read_link(git.join("HEAD")).unwrap(), Path::new("refs/heads/main"));
    }

    #[test]
    fn what_looks_like_a_bare_repository_beside_it_is_renamed() {
        for names in [&["objects", "refs"][..], &["commondir"]] {
            let (directory, _, watch) = project();
            let top = directory.path();
            for name in names {
                fs::create_dir(top.join(name)).unwrap();
                assert_eq!(watch.look(), Vec::<String>::new());
            }
            symlink("refs/heads/main", top.join("HEAD")).unwrap();
            let told = watch.look();
            assert!(matches!(&told[..], [one] if one.contains(ASIDE)), "{told:?}");
            assert!(fs::symlink_metadata(top.join("HEAD")).is_err());
            assert_eq!(watch.look(), Vec::<String>::new());
        }
    }

    #[test]
    fn one_that_was_there_at_the_start_is_left_as_it_is() {
        let (directory, git, _) = project();
        for name in ["objects", "refs"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        fs::write(directory.path().join("HEAD"), MAIN).unwrap();
        assert_eq!(Watch::new(&[git]).look(), Vec::<String>::new());
        assert!(directory.path().join("HEAD").exists());
    }

    #[test]
    fn a_repository_that_is_closed_to_git_is_opened_again() {
        let (_directory, git, watch) = project();
        for name in ["", "refs", "objects"] {
            let place = git.join(name);
            let mode = |place: &Path| fs::metadata(place).unwrap().permissions().mode();
            let before = mode(&place);
            fs::set_permissions(&place, fs::Permissions::from_mode(0o000)).unwrap();
            let told = watch.look();
            assert!(
                matches!(&told[..], [one] if one.contains("earlier permissions are restored")),
                "{name}: {told:?}"
            );
            assert_eq!(mode(&place), before, "{name}");
        }
    }
}
