//! What commands may see: the runner's own configuration, and the lists of system paths.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::bounds::Bounds;
use sha2::{Digest, Sha256};

/// System trees whose files commands may read and run. Some are symbolic links on most machines.
pub(super) const SYSTEM_TREES: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix", "/gnu"];

/// Entries of `/etc` commands may read. Never the tree: it holds secrets of other services.
pub(super) const ETC_ENTRIES: &[&str] = &[
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
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
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
pub(super) const SYS_TREES: &[&str] = &["/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm"];

/// Device files commands may read and write. `tty` is the terminal of whoever opens it, and nothing for those without one.
pub(super) const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Tools people keep in their home, read-only for commands. Never a directory that also holds credentials or caches.
pub(super) const HOME_TOOLS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cargo/bin",
    ".cargo/config.toml",
    ".cargo/env",
    ".deno/bin",
    ".dotnet",
    ".local/bin",
    ".local/share/mise",
    ".local/share/uv",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".sdkman",
    ".volta",
    "go/bin",
];

/// Directories of the home that belong on a command's PATH, first come first.
const HOME_PATH: &[&str] = &[
    ".local/bin",
    ".cargo/bin",
    "go/bin",
    ".pyenv/shims",
    ".pyenv/bin",
    ".volta/bin",
    ".bun/bin",
    ".deno/bin",
    ".local/share/mise/shims",
    ".asdf/shims",
    ".rbenv/shims",
];

/// The system's part of a command's PATH.
const SYSTEM_PATH: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Whose commands these are and what belongs to them; from the runner's configuration, never from a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfinePolicy {
    /// The directory commands work in; absolute, without symbolic links.
    pub workspace: PathBuf,
    /// Where the runner keeps its own state, the private homes among it; absolute, and best outside the workspace: inside it,
    /// only a mount namespace can hide it from commands.
    pub state_dir: PathBuf,
    /// The home directory of the user the runner runs as.
    pub home: PathBuf,
    /// The name of that user.
    pub user: String,
    /// That user's login shell.
    pub shell: String,
    /// What commands may reach, and how much they may take.
    pub bounds: Bounds,
}

impl ConfinePolicy {
    /// Finds the user's facts and makes `state_dir`, which only that user may enter.
    ///
    /// # Errors
    /// The workspace does not exist or is not a directory, or the state directory cannot be made.
    pub fn detect(workspace: &Path, state_dir: &Path) -> io::Result<Self> {
        let workspace = workspace.canonicalize()?;
        if !workspace.is_dir() {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "the workspace is not a directory"));
        }
        make_private(state_dir)?;
        let user = rustix::process::geteuid().as_raw();
        let (name, home, shell) = account(user).unwrap_or_else(|| fallback_account(user));
        let shell = if runs_commands(Path::new(&shell)) { shell } else { "/bin/sh".to_owned() };
        let home = home.canonicalize().unwrap_or(home);
        Ok(Self {
            workspace,
            state_dir: state_dir.canonicalize()?,
            home,
            user: name,
            shell,
            bounds: Bounds::default(),
        })
    }

    /// The home that commands of this workspace have to themselves; made when it is missing.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn private_home(&self) -> io::Result<PathBuf> {
        use std::os::unix::ffi::OsStrExt;
        let digest = Sha256::digest(self.workspace.as_os_str().as_bytes());
        let name: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let home = self.state_dir.join("homes").join(name);
        make_private(&home)?;
        // Commands own it, and may have closed it to the next ones.
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700))?;
        Ok(home)
    }

    /// Whether the user's home lies in the workspace (or is it), so that it cannot be replaced by a private one.
    pub(super) fn home_in_workspace(&self) -> bool {
        self.home.starts_with(&self.workspace)
    }

    /// Whether the runner's state lies in the workspace, where commands could reach it.
    pub(super) fn state_in_workspace(&self) -> bool {
        self.state_dir.starts_with(&self.workspace)
    }

    /// The tools in the user's home that exist.
    pub(super) fn home_tools(&self) -> Vec<PathBuf> {
        HOME_TOOLS.iter().map(|tool| self.home.join(tool)).filter(|path| path.exists()).collect()
    }

    /// Directories of a command's PATH, unless the request brings its own.
    pub(super) fn command_path(&self) -> Vec<PathBuf> {
        let own = HOME_PATH.iter().map(|tool| self.home.join(tool)).filter(|path| path.is_dir());
        own.chain(SYSTEM_PATH.iter().map(PathBuf::from)).collect()
    }
}

/// The trees whose files commands may read, by their real names: a secret of the runner has to lie elsewhere.
pub(crate) fn seen_by_commands(workspace: &Path, state_dir: &Path) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let system = SYSTEM_TREES.iter().map(PathBuf::from);
    let etc = ETC_ENTRIES.iter().map(|entry| Path::new("/etc").join(entry));
    let tools = HOME_TOOLS.iter().map(|tool| home.join(tool));
    let own = [workspace.to_owned(), state_dir.join("homes")].into_iter();
    own.chain(system).chain(etc).chain(tools).map(|path| path.canonicalize().unwrap_or(path)).collect()
}

/// Whether that is a shell: accounts of services have a program in its place that turns people away.
fn runs_commands(shell: &Path) -> bool {
    let turns_away = shell.file_name().is_some_and(|name| name == "nologin" || name == "false");
    !turns_away && shell.is_file()
}

fn make_private(directory: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)
}

/// Name, home and shell of a user, from the user database in its file form.
fn account(user: u32) -> Option<(String, PathBuf, String)> {
    let database = fs::read_to_string("/etc/passwd").ok()?;
    database.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, id, _, _, home, shell] = fields.as_slice() else { return None };
        (id.parse() == Ok(user)).then(|| ((*name).to_owned(), PathBuf::from(home), (*shell).to_owned()))
    })
}

/// A user the file does not know (network accounts, bare containers): what the environment says.
fn fallback_account(user: u32) -> (String, PathBuf, String) {
    let value = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_owned());
    let home = PathBuf::from(value("HOME", "/tmp"));
    (value("USER", &user.to_string()), home, value("SHELL", "/bin/sh"))
}
