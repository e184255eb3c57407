//! Toolchains that users keep outside of the system's own trees: read-only for commands, and on their PATH.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::policy::{ConfinePolicy, SYSTEM_TREES};

/// A toolchain's directory.
struct Toolchain {
    /// The variable that names its place, if there is one.
    variable: &'static str,
    /// The toolchain's place otherwise, below HOME; none if empty.
    home: &'static str,
    /// The toolchain's directories that commands see; the empty path means all of it. Never those with credentials or caches.
    parts: &'static [&'static str],
    /// The toolchain's directories that belong on PATH.
    path: &'static [&'static str],
    /// True if its programs need the variable to find it when HOME differs.
    is_told: bool,
}

const fn whole(variable: &'static str, home: &'static str, path: &'static [&'static str]) -> Toolchain {
    Toolchain { variable, home, parts: &[""], path, is_told: true }
}

/// A toolchain of which only these parts are visible, since caches and credentials are next to them: its root is private.
const fn partly(variable: &'static str, home: &'static str, parts: &'static [&'static str]) -> Toolchain {
    Toolchain { variable, home, parts, path: &["bin"], is_told: false }
}

/// The known toolchains, in the order of PATH.
const TOOLCHAINS: &[Toolchain] = &[
    partly("", ".local", &["bin"]),
    partly("CARGO_HOME", ".cargo", &["bin", "env"]),
    partly("GOPATH", "go", &["bin"]),
    whole("PYENV_ROOT", ".pyenv", &["shims", "bin"]),
    whole("VOLTA_HOME", ".volta", &["bin"]),
    partly("BUN_INSTALL", ".bun", &["bin"]),
    partly("DENO_INSTALL", ".deno", &["bin"]),
    whole("MISE_DATA_DIR", ".local/share/mise", &["shims"]),
    whole("ASDF_DATA_DIR", ".asdf", &["shims"]),
    whole("RBENV_ROOT", ".rbenv", &["shims"]),
    whole("RUSTUP_HOME", ".rustup", &[]),
    whole("NVM_DIR", ".nvm", &[]),
    whole("SDKMAN_DIR", ".sdkman", &[]),
    whole("DOTNET_ROOT", ".dotnet", &[]),
    whole("GOROOT", "", &["bin"]),
    whole("JAVA_HOME", "", &["bin"]),
    whole("CONDA_PREFIX", "", &["bin"]),
    Toolchain { variable: "", home: ".local/share/uv", parts: &[""], path: &[], is_told: false },
];

/// The system's part of a command's PATH.
const SYSTEM_PATH: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// The place where commands install programs for themselves, below their own HOME. Last on PATH, so that nothing there
/// replaces an existing program.
const OWN_PREFIX: &str = ".sandbridge";

/// The variables that make tools install there. Other places are either read-only or not on PATH.
const OWN_PREFIX_VARIABLES: &[(&str, &str)] =
    &[("CARGO_INSTALL_ROOT", ""), ("GOBIN", "bin"), ("NPM_CONFIG_PREFIX", ""), ("PYTHONUSERBASE", "")];

/// The toolchains of a machine, as its runner finds them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tools {
    /// Trees and files that commands may read and run; all of them exist.
    pub(crate) trees: Vec<PathBuf>,
    /// Directories for PATH, before the system's.
    path: Vec<PathBuf>,
    /// Variables with the root each belongs to, and true if the runner itself has it.
    variables: Vec<(&'static str, PathBuf, bool)>,
}

impl Tools {
    /// Looks at the variables of the runner, and at its user's home.
    ///
    /// A variable is ignored if it names a directory that is too large to show: all of the home, or of the workspace or the
    /// state directory, which are in `keep`.
    pub(super) fn detect(home: &Path, keep: &[&Path], variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let mut tools = Self::default();
        for toolchain in TOOLCHAINS {
            let named = Some(toolchain.variable).filter(|name| !name.is_empty()).and_then(&variable);
            let named = named.map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
            let named = named.and_then(|path| path.canonicalize().ok());
            let named = named.filter(|root| !keep.iter().any(|kept| kept.starts_with(root)));
            let is_named = named.is_some();
            let usual = Some(toolchain.home).filter(|name| !name.is_empty()).map(|name| home.join(name));
            let mut roots: Vec<PathBuf> = named.into_iter().chain(usual).collect();
            roots.dedup();
            for (index, root) in roots.into_iter().enumerate() {
                let join = |part: &&str| if part.is_empty() { root.clone() } else { root.join(part) };
                let trees = toolchain.parts.iter().map(join).filter(|path| path.exists());
                let before = tools.trees.len();
                tools.trees.extend(trees);
                tools.path.extend(toolchain.path.iter().map(join).filter(|path| path.is_dir()));
                if toolchain.is_told && index == 0 && tools.trees.len() > before {
                    tools.variables.push((toolchain.variable, root, is_named));
                }
            }
        }
        tools.path.extend(newest_node(&home.join(".nvm/versions/node")));
        tools
    }

    /// The variables for commands; `home_moved` is true if their HOME is not where the toolchains expect it.
    pub(crate) fn variables(&self, home_moved: bool) -> impl Iterator<Item = (&'static str, &Path)> {
        let told = self.variables.iter().filter(move |(_, _, is_named)| *is_named || home_moved);
        told.map(|(name, root, _)| (*name, root.as_path()))
    }
}

impl ConfinePolicy {
    /// The directories of a command's PATH, unless the request has its own: the runner's that commands see, those of the
    /// toolchains, the system's.
    pub(super) fn command_path(&self) -> Vec<PathBuf> {
        let tools = self.tools();
        let seen = |path: &PathBuf| {
            let system = SYSTEM_TREES.iter().map(Path::new);
            let allowed = self.allowances.read.iter().chain(&self.allowances.write);
            let others = tools.trees.iter().chain(allowed).map(PathBuf::as_path);
            path.is_absolute() && system.chain(others).any(|tree| path.starts_with(tree))
        };
        let own = std::env::var_os("PATH").unwrap_or_default();
        let own = std::env::split_paths(&own).filter(|path| seen(path) && path.is_dir());
        let mut path: Vec<PathBuf> = Vec::new();
        for directory in own.chain(tools.path.iter().cloned()).chain(SYSTEM_PATH.iter().map(PathBuf::from)) {
            if !path.contains(&directory) {
                path.push(directory);
            }
        }
        path
    }
}

/// The directory of programs that commands installed.
pub(super) fn own_programs(home: &Path) -> PathBuf {
    home.join(OWN_PREFIX).join("bin")
}

/// The variables that make tools install there.
pub(crate) fn own_prefix_variables(home: &Path) -> impl Iterator<Item = (&'static str, PathBuf)> {
    let prefix = home.join(OWN_PREFIX);
    OWN_PREFIX_VARIABLES
        .iter()
        .map(move |(name, part)| (*name, if part.is_empty() { prefix.clone() } else { prefix.join(part) }))
}

/// The directory of the newest Node.js that nvm installed: a runner without a shell cannot tell which one is in use.
fn newest_node(versions: &Path) -> Option<PathBuf> {
    let numbers = |path: &Path| -> Option<Vec<u64>> {
        let name = path.file_name()?.to_str()?.strip_prefix('v')?;
        name.split('.').map(|number| number.parse().ok()).collect()
    };
    let entries = std::fs::read_dir(versions).ok()?.flatten().map(|entry| entry.path());
    let (_, newest) = entries.filter_map(|path| Some((numbers(&path)?, path))).max()?;
    Some(newest.join("bin")).filter(|bin| bin.is_dir())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_toolchain_is_found_in_the_home_or_where_its_variable_says() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let (home, elsewhere) = (root.join("home"), root.join("srv/rust"));
        for path in [".cargo/bin", ".rustup", ".pyenv/shims", ".nvm/versions/node/v9.1.0/bin"] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        fs::create_dir_all(home.join(".nvm/versions/node/v20.3.1/bin")).unwrap();
        fs::create_dir_all(elsewhere.join("bin")).unwrap();
        let none = Tools::detect(&home, &[&home], |_| None);
        assert!(none.trees.contains(&home.join(".cargo/bin")) && none.trees.contains(&home.join(".rustup")));
        assert!(!none.trees.contains(&home.join(".cargo")), "registries and credentials lie there");
        assert_eq!(none.path.last(), Some(&home.join(".nvm/versions/node/v20.3.1/bin")));
        assert_eq!(none.variables(false).count(), 0);
        assert!(none.variables(true).any(|told| told == ("PYENV_ROOT", &home.join(".pyenv"))));
        let named = |name: &str| match name {
            "CARGO_HOME" | "RUSTUP_HOME" => Some(elsewhere.clone().into()),
            _ => None,
        };
        let moved = Tools::detect(&home, &[&home], named);
        assert!(
            moved.trees.contains(&elsewhere.join("bin")) && moved.trees.contains(&home.join(".cargo/bin"))
        );
        assert_eq!(moved.variables(false).collect::<Vec<_>>(), [("RUSTUP_HOME", elsewhere.as_path())]);
    }

    #[test]
    fn a_variable_that_would_show_too_much_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path().canonicalize().unwrap();
        fs::create_dir(home.join("state")).unwrap();
        for value in [home.clone(), "/".into(), home.join("state"), home.join("none"), "relative".into()] {
            let tools = Tools::detect(&home, &[&home, &home.join("state")], |_| Some(value.clone().into()));
            assert_eq!(tools, Tools::default(), "{value:?}");
        }
    }
}
