//! Tests a policy's promises by running commands in the sandbox.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use serde::Serialize;

use crate::confine::ConfinePolicy;
use crate::layers::{Profile, layer_name};
use crate::spawn::{Exit, SpawnRequest, Spawner};

/// Files that people keep private in their home.
const SECRETS: &[&str] = &[
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".netrc",
    ".git-credentials",
    ".cargo/credentials.toml",
    ".config/gcloud",
    ".config/gh",
    ".config/google-chrome",
    ".docker/config.json",
    ".mozilla",
    ".npmrc",
    ".pypirc",
];

/// Sockets that would give access to the whole machine.
const SOCKETS: &[&str] = &[
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
    "/run/dbus/system_bus_socket",
];

/// Prints what `$1` is, if it can be read.
const READ: &str = "if [ -d \"$1\" ]; then ls -A \"$1\"; else head -c 1 \"$1\"; fi >/dev/null 2>&1 && stat -L -c %d:%i \"$1\"";

/// Prints what `$1` is, if it exists.
const FIND: &str = "stat -L -c %d:%i \"$1\" 2>/dev/null";

/// Makes a file and removes it.
const WRITE: &str = "{ : > \"$1\"; } 2>/dev/null && rm \"$1\"";

/// Makes a file.
const MAKE: &str = "{ : > \"$1\"; } 2>/dev/null";

/// Opens a file for changing, without changing it.
const OPEN: &str = "{ : >> \"$1\"; } 2>/dev/null";

/// One test of a promise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trial {
    /// The promise, as a sentence.
    pub name: String,
    /// True if it had the promised result.
    pub ok: bool,
}

/// Tests everything with the commands of a spawner.
pub(super) fn try_all(policy: &ConfinePolicy, spawner: &Spawner) -> Vec<Trial> {
    let mut trials = Trials { spawner, done: Vec::new() };
    let own = format!(".sandbridge-doctor-{:016x}", rand::random::<u64>());
    let profile = spawner.profile();
    let writable = profile != Profile::ReadOnly;
    let workspace = policy.workspace.join(&own);
    let name = if writable { "the workspace can be changed" } else { "the workspace cannot be changed" };
    trials.expect(name, WRITE, &workspace, writable);
    let home_is_writable =
        policy.home_is_writable(profile, spawner.report().holds(layer_name::MOUNT_NAMESPACE));
    let name = if home_is_writable { "HOME can be changed" } else { "HOME cannot be changed" };
    let script = "{ : > \"$HOME/$1\"; } 2>/dev/null && rm \"$HOME/$1\"";
    trials.expect(name, script, Path::new(&own), home_is_writable);
    trials.expect("/tmp can be changed", WRITE, &Path::new("/tmp").join(&own), true);
    trials.expect(
        "the system's programs can be run",
        "ls \"$1\" >/dev/null && env >/dev/null",
        Path::new("/usr"),
        true,
    );
    if profile == Profile::FullControl {
        return trials.done;
    }
    let secrets = SECRETS.iter().map(|secret| policy.home.join(secret));
    let secrets = secrets.filter(|path| !is_open(policy, path));
    for secret in secrets.chain([PathBuf::from("/etc/shadow"), policy.state_dir.clone()]) {
        trials.out_of_reach(&secret, READ);
    }
    for socket in SOCKETS.iter().map(Path::new).filter(|path| !is_open(policy, path)) {
        trials.out_of_reach(socket, FIND);
    }
    let environment = PathBuf::from(format!("/proc/{}/environ", std::process::id()));
    trials.expect(
        "the runner's environment cannot be read",
        "head -c 1 \"$1\" 2>/dev/null",
        &environment,
        false,
    );
    let outside = [policy.home.as_path(), Path::new("/usr"), Path::new("/etc"), &policy.state_dir];
    for directory in outside.into_iter().filter(|path| path.is_dir() && !is_open(policy, path)) {
        trials.not_written(&directory.join(&own));
    }
    let config = policy.workspace.join(".git/config");
    if config.is_file() && writable && !policy.allowances.git_config {
        trials.expect("git's configuration cannot be changed", OPEN, &config, false);
    }
    trials.done
}

/// True if a path is meant to be open to commands.
fn is_open(policy: &ConfinePolicy, path: &Path) -> bool {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let allowed = policy.allowances.read.iter().chain(&policy.allowances.write);
    allowed.chain([&policy.workspace]).any(|tree| path.starts_with(tree))
}

struct Trials<'a> {
    spawner: &'a Spawner,
    done: Vec<Trial>,
}

impl Trials<'_> {
    fn expect(&mut self, name: &str, script: &str, path: &Path, expected: bool) {
        let ok = self.run(script, path).is_some() == expected;
        self.done.push(Trial { name: name.to_owned(), ok });
    }

    /// Commands must not find the file that exists outside at this path.
    fn out_of_reach(&mut self, path: &Path, script: &str) {
        let Ok(found) = fs::metadata(path) else { return };
        let identity = format!("{}:{}", found.dev(), found.ino());
        let ok = self.run(script, path).is_none_or(|seen| seen.trim() != identity);
        self.done.push(Trial { name: format!("{} is out of reach", path.display()), ok });
    }

    /// Files that commands make there must not exist outside.
    fn not_written(&mut self, path: &Path) {
        self.run(MAKE, path);
        let is_there = fs::symlink_metadata(path).is_ok();
        if is_there {
            // Created here, with a unique name.
            let _ = fs::remove_file(path);
        }
        let directory = path.parent().unwrap_or(path).display();
        self.done.push(Trial { name: format!("nothing is written to {directory}"), ok: !is_there });
        self.run("rm -f \"$1\" 2>/dev/null", path);
    }

    /// The output of a script about a path, if it succeeded.
    fn run(&self, script: &str, path: &Path) -> Option<String> {
        let words = [b"sh".as_slice(), b"-c", script.as_bytes(), b"sh", path.as_os_str().as_bytes()];
        let argv = words.iter().map(|word| word.to_vec()).collect();
        let request = SpawnRequest { argv, merge_stderr: true, ..SpawnRequest::default() };
        let mut spawned = self.spawner.spawn_blocking(request).ok()?;
        rustix::fs::fcntl_setfl(&spawned.stdout, OFlags::empty()).ok()?;
        let mut text = String::new();
        File::from(spawned.stdout).read_to_string(&mut text).ok()?;
        let mut end = [PollFd::from_borrowed_fd(spawned.child.as_fd(), PollFlags::IN)];
        poll(&mut end, None).ok()?;
        let exit = spawned.child.try_wait().ok()??;
        (exit == Exit::Code(0)).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::confine::Allowances;

    #[test]
    fn what_is_in_reach_against_the_policy_is_found() {
        let directory = tempfile::Builder::new().tempdir_in("/var").unwrap();
        let root = directory.path().canonicalize().unwrap();
        for name in ["work/.git/objects", "work/.git/refs", "home/.ssh"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("work/.git/HEAD"), "").unwrap();
        fs::write(root.join("work/.git/config"), "").unwrap();
        let policy = ConfinePolicy::detect(&root.join("work"), &root.join("state")).unwrap();
        let policy = ConfinePolicy { home: root.join("home"), ..policy };
        let failed = |actual: &ConfinePolicy, profile| {
            let spawner = Spawner::start(profile, actual).unwrap();
            let trials = try_all(&policy, &spawner);
            assert!(trials.len() > 8, "{trials:?}");
            trials.into_iter().filter(|trial| !trial.ok).map(|trial| trial.name).collect::<Vec<_>>()
        };
        assert_eq!(failed(&policy, Profile::Workspace), Vec::<String>::new());
        assert_eq!(failed(&policy, Profile::ReadOnly), Vec::<String>::new());
        let open = Allowances::new(&[root.join("home/.ssh")], &[root.join("state")], true).unwrap();
        let failed = failed(&policy.clone().allowing(open), Profile::Workspace);
        for expected in ["home/.ssh is out of reach", "written to", "git's configuration"] {
            assert!(failed.iter().any(|name| name.contains(expected)), "{expected}: {failed:?}");
        }
        let left = fs::read_dir(root.join("state")).unwrap().flatten();
        assert!(left.into_iter().all(|entry| entry.file_name() == "homes"), "nothing is left behind");
    }
}
