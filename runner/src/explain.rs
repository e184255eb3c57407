//! Explains why commands may or may not touch a path: the rules of a policy, the nearest one first.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::confine::{ConfinePolicy, GitPaths, trees};
use crate::layers::Profile;

/// The rule that decides about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The profile confines nothing, so every path is open.
    FullControl,
    /// The path is in the workspace.
    Workspace,
    /// The path is one of the files that the user's own git obeys.
    GitConfig,
    /// The configuration allows reading the path.
    AllowRead,
    /// The configuration allows changing the path.
    AllowWrite,
    /// The path belongs to a toolchain.
    Tool,
    /// The path belongs to the system's programs.
    System,
    /// The path is one of the files of `/etc` that programs need.
    Etc,
    /// The path is a device that all users may use.
    Device,
    /// The path contains the kernel's information about processes and hardware.
    Kernel,
    /// The path is in a temporary directory.
    Temporary,
    /// The path is in the commands' private home.
    Home,
    /// The path belongs to the runner itself.
    RunnerState,
    /// No rule opens the path to commands.
    Hidden,
}

/// A tree, or a single file, with one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The top directory, or the file.
    pub path: PathBuf,
    /// The rule for everything in it.
    pub rule: Rule,
    /// True if commands may read it.
    pub read: bool,
    /// True if they may change it.
    pub write: bool,
    /// True if they may run programs in it.
    pub run: bool,
    /// The reason, for people.
    pub why: String,
}

/// The rights of commands to a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The requested path, made absolute.
    pub path: PathBuf,
    /// The path without symbolic links, as far as it exists.
    pub resolved: PathBuf,
    /// True if it exists outside of the sandbox.
    pub exists: bool,
    /// True if commands may read it; like the next two, subject to the file's own mode.
    pub read: bool,
    /// True if they may change it.
    pub write: bool,
    /// True if they may run it, or programs in it.
    pub run: bool,
    /// The rule that decides.
    pub rule: Rule,
    /// The reason, for people.
    pub why: String,
}

/// Explains what commands may do with a path; `own_root` is true if they have a mount namespace.
pub fn explain(policy: &ConfinePolicy, profile: Profile, own_root: bool, path: &Path) -> Explanation {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let resolved = resolve(&path);
    let entries = entries(policy, profile, own_root);
    let nearest = entries.iter().filter(|entry| resolved.starts_with(&entry.path));
    // Of two rules about the same place the later one applies.
    let nearest = nearest.max_by_key(|entry| entry.path.components().count());
    let (rule, [read, write, run], why) = match nearest {
        Some(entry) => (entry.rule, [entry.read, entry.write, entry.run], entry.why.clone()),
        None => {
            let why = "nothing allows it: --allow-read or --allow-write on the runner's machine would";
            (Rule::Hidden, [false; 3], why.to_owned())
        }
    };
    let exists = path.exists();
    Explanation { path, resolved, exists, read, write, run, rule, why }
}

/// Every rule of a policy: those about the same place, or one inside another, are ordered so that the later one applies.
pub fn entries(policy: &ConfinePolicy, profile: Profile, own_root: bool) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut add = |paths: Vec<PathBuf>, rule: Rule, access: &str, why: &str| {
        let may = |letter| access.contains(letter);
        entries.extend(paths.into_iter().map(|path| Entry {
            path,
            rule,
            read: may('r'),
            write: may('w'),
            run: may('x'),
            why: why.to_owned(),
        }));
    };
    if profile == Profile::FullControl {
        add(vec!["/".into()], Rule::FullControl, "rwx", "the profile full-control confines nothing");
        return entries;
    }
    add(real(trees::SYSTEM_TREES), Rule::System, "rx", "programs and libraries of the system");
    let etc: Vec<PathBuf> = trees::ETC_ENTRIES.iter().map(|entry| Path::new("/etc").join(entry)).collect();
    add(etc, Rule::Etc, "r", "one of the files of /etc that programs need; a copy without credentials");
    add(real(trees::SYS_TREES), Rule::Kernel, "r", "the kernel's information about the machine");
    let processes =
        if own_root { "the commands' own processes" } else { "processes, as far as the kernel shows them" };
    add(vec!["/proc".into()], Rule::Kernel, "r", processes);
    add(real(trees::DEVICES), Rule::Device, "rw", "a device that all users may use");
    let temporary = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).to_vec();
    let whose = if own_root && profile == Profile::ReadOnly {
        "the command's own: empty at its start, gone at its end"
    } else if own_root {
        "the commands' own, empty at the runner's start"
    } else {
        "the machine's: no mount namespace here"
    };
    add(temporary, Rule::Temporary, "rwx", whose);
    let home_access = if policy.home_is_writable(profile, own_root) { "rwx" } else { "rx" };
    if own_root && !policy.home_in_workspace() {
        let why = if policy.throws_home_away(profile, own_root) {
            "commands have their own home here, which holds only settings and is thrown away after each command"
        } else {
            "commands have their own home here: what the user keeps in it is hidden from them"
        };
        add(vec![policy.home.clone()], Rule::Home, home_access, why);
    }
    add(policy.tools().trees, Rule::Tool, "rx", "a toolchain of the user");
    let allowances = &policy.allowances;
    add(allowances.read.clone(), Rule::AllowRead, "rx", "allowed by --allow-read or the policy file");
    add(allowances.write.clone(), Rule::AllowWrite, "rwx", "allowed by --allow-write or the policy file");
    let (access, why) = match profile {
        Profile::ReadOnly => ("rx", "in the workspace, which the profile read-only keeps as it is"),
        Profile::Workspace | Profile::FullControl => ("rwx", "in the workspace"),
    };
    add(vec![policy.workspace.clone()], Rule::Workspace, access, why);
    if own_root {
        let why =
            "the user's own git obeys it: --allow-git-config on the runner's machine lets commands change it";
        let GitPaths { pinned, closed, read_only, .. } = GitPaths::of(policy, profile);
        let inner = |path: &PathBuf| closed.iter().any(|closed| path.starts_with(closed) && path != closed);
        let inner: Vec<PathBuf> =
            pinned.into_iter().filter(|path| !closed.contains(path) && inner(path)).collect();
        let why_closed = "anything created in it has hooks or a configuration that the user's own git obeys: add worktrees and submodules outside \
            the sandbox and restart the runner, or let commands do it with --allow-git-config on the runner's machine";
        add(closed, Rule::GitConfig, "rx", why_closed);
        add(inner, Rule::Workspace, "rwx", "in the workspace");
        add(read_only, Rule::GitConfig, "rx", why);
    }
    if policy.workspace != Path::new("/") {
        let why = "the runner's own files, which may include its token";
        add(vec![policy.state_dir.clone()], Rule::RunnerState, "", why);
    }
    if !own_root && let Ok(home) = policy.private_home() {
        add(vec![home], Rule::Home, home_access, "the commands' own home");
    }
    entries
}

/// The real names of the paths that exist.
fn real(paths: &[&str]) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        paths.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Follows symbolic links as far as the path exists.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    let mut known = path;
    loop {
        if let Ok(real) = known.canonicalize() {
            return missing.iter().rev().fold(real, |path, name| path.join(name));
        }
        let (Some(parent), Some(name)) = (known.parent(), known.file_name()) else { return path.to_owned() };
        missing.push(name);
        known = parent;
    }
}

/// Formats an explanation for a terminal.
pub fn render(explanation: &Explanation) -> String {
    let Explanation { path, resolved, exists, read, write, run, why, .. } = explanation;
    let mut text = format!("{}\n", path.display());
    if resolved != path {
        text.push_str(&format!("  is {}\n", resolved.display()));
    }
    if !exists {
        text.push_str("  does not exist outside of the sandbox\n");
    }
    let may = |may: &bool| if *may { "yes" } else { "no" };
    text.push_str(&format!("  read {}, write {}, run {}\n  {why}\n", may(read), may(write), may(run)));
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::confine::Allowances;

    fn rule(policy: &ConfinePolicy, profile: Profile, path: &Path) -> (Rule, String) {
        let found = explain(policy, profile, true, path);
        let letters = [(found.read, 'r'), (found.write, 'w'), (found.run, 'x')];
        (found.rule, letters.iter().filter(|(may, _)| *may).map(|(_, letter)| *letter).collect())
    }

    #[test]
    fn the_nearest_rule_decides_through_links_and_for_what_is_not_there() {
        let directory = tempfile::Builder::new().tempdir_in("/var").unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work/.git/objects", "work/.git/refs", "home/.cargo/bin", "home/.ssh", "more/inner"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("work/.git/HEAD"), "").unwrap();
        for name in ["objects", "refs", "HEAD"] {
            fs::create_dir_all(root.join("work/.git/modules/lib").join(name)).unwrap();
        }
        symlink(root.join("home/.ssh"), root.join("work/keys")).unwrap();
        let allowances = Allowances::new(&[root.join("more")], &[root.join("more/inner")], false).unwrap();
        let policy = ConfinePolicy::detect(&root.join("work"), &root.join("state")).unwrap();
        let policy = ConfinePolicy { home: root.join("home"), ..policy.allowing(allowances) };
        for (path, expected, access) in [
            ("work/new/file", Rule::Workspace, "rwx"),
            ("work/.git/hooks/pre-commit", Rule::GitConfig, "rx"),
            ("work/.git/index", Rule::Workspace, "rwx"),
            ("work/.git/worktrees/new/commondir", Rule::GitConfig, "rx"),
            ("work/.git/modules/lib/index", Rule::Workspace, "rwx"),
            ("work/.git/modules/lib/config", Rule::GitConfig, "rx"),
            ("work/.git/modules/new", Rule::GitConfig, "rx"),
            ("work/keys/id", Rule::Home, "rwx"),
            ("home/.cargo/bin/cargo", Rule::Tool, "rx"),
            ("home/.cargo/registry", Rule::Home, "rwx"),
            ("more/file", Rule::AllowRead, "rx"),
            ("more/inner/file", Rule::AllowWrite, "rwx"),
            ("state/token", Rule::RunnerState, ""),
            ("elsewhere", Rule::Hidden, ""),
            ("/etc/hosts", Rule::Etc, "r"),
            ("/etc/shadow", Rule::Hidden, ""),
            ("/bin/sh", Rule::System, "rx"),
            ("/dev/null", Rule::Device, "rw"),
            ("/dev/mem", Rule::Hidden, ""),
            ("/tmp/x", Rule::Temporary, "rwx"),
            ("/run/docker.sock", Rule::Hidden, ""),
        ] {
            let path = root.join(path);
            let path = if path.starts_with("/run") || path.is_absolute() { path } else { root.join(path) };
            let found = rule(&policy, Profile::Workspace, &path);
            assert_eq!(found, (expected, access.to_owned()), "{}", path.display());
        }
        assert_eq!(
            rule(&policy, Profile::ReadOnly, &root.join("work/x")),
            (Rule::Workspace, "rx".to_owned())
        );
        assert_eq!(
            rule(&policy, Profile::FullControl, &root.join("x")),
            (Rule::FullControl, "rwx".to_owned())
        );
        let moved = explain(&policy, Profile::Workspace, false, &root.join("home/.ssh/id"));
        assert_eq!(moved.rule, Rule::Hidden, "without a mount namespace HOME is elsewhere");
        let text = render(&explain(&policy, Profile::Workspace, true, &root.join("work/keys/id")));
        assert!(text.contains("home/.ssh/id") && text.contains("does not exist"), "{text}");
    }
}
