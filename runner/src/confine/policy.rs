//! The policy of confinement: the runner's own configuration, and the lists of system paths.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt, lchown};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::allow::Allowances;
use super::git;
use super::tools::Tools;
use crate::account::{Account, own_home};
use crate::bounds::Bounds;
use crate::layers::{LeftOut, Profile, layer_name};
use crate::settings::{self, Copied, Owner, Passed};

/// System trees whose files commands may read and run. Some are symbolic links on most machines. Of a package store, only
/// the content and the paths to it are listed: its daemon listens next to them.
pub(crate) const SYSTEM_TREES: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/nix/var/nix/profiles",
    "/gnu",
];

/// Entries of `/etc` commands may read. Never the whole tree: it holds secrets of other services.
pub(crate) const ETC_ENTRIES: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "gitconfig",
    "group",
    "host.conf",
    "hostname",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "java-25-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "npmrc",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pip.conf",
    "pki/ca-trust",
    "pki/java",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "profile",
    "profile.d",
    "protocols",
    "python3",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "xdg",
];

/// The parts of `/sys` that build tools and language runtimes read to size themselves.
pub(crate) const SYS_TREES: &[&str] = &["/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"];

/// Device files commands may read and write. `tty` is the terminal of the process that opens it, and nothing for a process without one.
pub(crate) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The commands' user, directories and limits; from the runner's configuration, never from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinePolicy {
    /// The directory commands work in; absolute, without symbolic links.
    pub workspace: PathBuf,
    /// The runner's own state, including the private homes; absolute, and best outside the workspace: inside it, only a mount
    /// namespace can hide it from commands.
    pub state_dir: PathBuf,
    /// The home directory of the user that commands run as.
    pub home: PathBuf,
    /// The name of that user.
    pub user: String,
    /// The login shell of that user.
    pub shell: String,
    /// The user that commands become; the runner's own user, without any change, when absent.
    pub run_as: Option<Account>,
    /// Layers not to set up.
    pub left_out: LeftOut,
    /// Paths that commands may touch beyond the profile.
    pub allowances: Allowances,
    /// The networks that commands may reach, and the resources they may take.
    pub bounds: Bounds,
    /// True if commands get copies of the user's settings.
    pub copies_settings: bool,
    /// True if the git of the runner's user ignores bare repositories that it comes across.
    pub git_refuses_bare: bool,
}

impl ConfinePolicy {
    /// Looks up the runner's own user and creates `state_dir`, which only that user may enter.
    ///
    /// # Errors
    /// The workspace does not exist or is not a directory, or the state directory cannot be made.
    pub fn detect(workspace: &Path, state_dir: &Path) -> io::Result<Self> {
        Self::detect_for(workspace, state_dir, None)
    }

    /// Like [`Self::detect`], for commands of another user.
    ///
    /// # Errors
    /// The same as for [`Self::detect`].
    pub fn detect_for(workspace: &Path, state_dir: &Path, run_as: Option<&Account>) -> io::Result<Self> {
        let workspace = workspace.canonicalize()?;
        if !workspace.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the workspace is not a directory"));
        }
        make_private(state_dir)?;
        let user = rustix::process::geteuid().as_raw();
        let run_as = run_as.filter(|account| !account.is_own()).cloned();
        let account = run_as.clone().or_else(|| Account::numbered(user));
        let account = account.map(|Account { name, home, shell, .. }| (name, home, shell));
        let (name, home, shell) = account.unwrap_or_else(|| fallback_account(user));
        let shell = if runs_commands(Path::new(&shell)) { shell } else { "/bin/sh".to_owned() };
        let home = home.canonicalize().unwrap_or(home);
        let state_dir = state_dir.canonicalize()?;
        let (left_out, allowances, bounds) = Default::default();
        let copies_settings = true;
        let git_refuses_bare = git::refuses_bare(&workspace);
        Ok(Self {
            workspace,
            state_dir,
            home,
            user: name,
            shell,
            run_as,
            left_out,
            allowances,
            bounds,
            copies_settings,
            git_refuses_bare,
        })
    }

    /// This policy with additional paths for commands.
    #[must_use]
    pub fn allowing(self, allowances: Allowances) -> Self {
        Self { allowances, ..self }
    }

    /// The private home for commands of this workspace; created if it is missing. The user's own home if that layer is left
    /// out.
    ///
    /// # Errors
    /// The directory cannot be created.
    pub fn private_home(&self) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        if self.left_out.contains(layer_name::PRIVATE_HOME) {
            return Ok(self.home.clone());
        }
        let digest = Sha256::digest(self.workspace.as_os_str().as_bytes());
        let mut name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        if let Some(user) = &self.run_as {
            name.push_str(&format!("-{}", user.user_id));
        }
        let home = self.state_dir.join("homes").join(name);
        make_private(&home)?;
        // Commands own the home, and may have closed it to later commands.
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700))?;
        if let Some(user) = &self.run_as {
            lchown(&home, Some(user.user_id), Some(user.group_id))?;
        }
        Ok(home)
    }

    /// True if commands of a profile get a temporary home, so that a profile that may change nothing keeps nothing.
    /// `own_root` is true if they have a mount namespace.
    pub(crate) fn throws_home_away(&self, profile: Profile, own_root: bool) -> bool {
        profile == Profile::ReadOnly && own_root && !self.left_out.contains(layer_name::PRIVATE_HOME)
    }

    /// True if commands of a profile may change files in their home.
    pub(crate) fn home_is_writable(&self, profile: Profile, own_root: bool) -> bool {
        profile != Profile::ReadOnly || self.throws_home_away(profile, own_root)
    }

    /// Lets another user through to its private home if it is not mounted elsewhere; other entries of the state directory
    /// keep their own modes, and cannot be listed.
    pub(super) fn open_way_to_home(&self) -> io::Result<()> {
        if self.run_as.is_none() {
            return Ok(());
        }
        let way = [self.state_dir.clone(), self.state_dir.join("homes")];
        way.iter().try_for_each(|place| fs::set_permissions(place, fs::Permissions::from_mode(0o711)))
    }

    /// True if the user's home is in the workspace (or is it), so that it cannot be replaced by a private one.
    pub(crate) fn home_in_workspace(&self) -> bool {
        self.home.starts_with(&self.workspace)
    }

    /// True if the runner's state is in the workspace, where commands could reach it.
    pub(super) fn state_in_workspace(&self) -> bool {
        self.state_dir.starts_with(&self.workspace)
    }

    /// The toolchains that commands find.
    pub(crate) fn tools(&self) -> Tools {
        let keep = [self.home.as_path(), &self.workspace, &self.state_dir];
        Tools::detect(&self.home, &keep, |name| std::env::var_os(name))
    }

    /// Copies the user's settings into the private home; call this before any thread is confined.
    pub(crate) fn copy_settings(&self) -> Vec<Copied> {
        if !self.copies_settings || self.left_out.contains(layer_name::PRIVATE_HOME) {
            return Vec::new();
        }
        let owner = Owner { home: &self.home, workspace: &self.workspace, run_as: self.run_as.as_ref() };
        // Without a private home commands lack settings, and this is reported at their start.
        self.private_home().map(|home| settings::copy(owner, &home)).unwrap_or_default()
    }

    /// The runner's variables that commands get.
    pub(crate) fn passed_variables(&self) -> Passed {
        let seen = seen_by_commands(&self.workspace, &self.state_dir, &self.allowances);
        let sees = |path: &Path| {
            path.canonicalize().is_ok_and(|path| seen.iter().any(|tree| path.starts_with(tree)))
        };
        settings::passed(std::env::vars_os(), sees)
    }

    /// The trees where commands may change files permanently, except the private home.
    pub(super) fn writable_roots(&self, profile: Profile) -> impl Iterator<Item = &Path> {
        let workspace = (profile != Profile::ReadOnly).then_some(self.workspace.as_path());
        workspace.into_iter().chain(self.allowances.write.iter().map(PathBuf::as_path))
    }
}

/// The trees whose files commands may read, by their real names: a secret of the runner has to be elsewhere.
pub(crate) fn seen_by_commands(workspace: &Path, state_dir: &Path, allowances: &Allowances) -> Vec<PathBuf> {
    let home = own_home().unwrap_or_default();
    let system = SYSTEM_TREES.iter().map(PathBuf::from);
    let etc = ETC_ENTRIES.iter().map(|entry| Path::new("/etc").join(entry));
    let tools = Tools::detect(&home, &[&home, workspace, state_dir], |name| std::env::var_os(name)).trees;
    let own = [workspace.to_owned(), state_dir.join("homes")].into_iter();
    let own = own.chain(allowances.read.iter().chain(&allowances.write).cloned());
    own.chain(system).chain(etc).chain(tools).map(|path| path.canonicalize().unwrap_or(path)).collect()
}

/// True if that is a shell: service accounts have a program instead that rejects logins.
fn runs_commands(shell: &Path) -> bool {
    let turns_away = shell.file_name().is_some_and(|name| name == "nologin" || name == "false");
    !turns_away && shell.is_file()
}

fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// A user that the file does not contain (network accounts, bare containers): taken from the environment.
fn fallback_account(user: u32) -> (String, PathBuf, String) {
    let value = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let home = PathBuf::from(value("HOME", "/tmp"));
    (value("USER", &user.to_string()), home, value("SHELL", "/bin/sh"))
}
