//! A machine with only busybox, or a fresh Debian: a separate root directory, with its own mounts and processes, on this
//! machine's network. It is removed, with everything that ran in it, when it is dropped.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::server::{Output, run};
use crate::{eventually, process};

/// The user id and group id of `dev`, an ordinary user.
const DEV: u32 = 4711;
/// How long setting up the root may take.
const SET_UP_WITHIN: Duration = Duration::from_secs(60);

/// Makes this the process's root, then waits: it is the first process in there.
const SET_UP: &str = r#"
    mount --bind "$1" "$1" && cd "$1" && mount -t proc proc proc && mount --rbind /dev dev || exit
    mkdir .old && pivot_root . .old && exec sh -c 'umount -l /.old && rmdir /.old && echo ready && exec sleep 3600'
"#;

/// The directories of programs on machines with only busybox or a fresh Debian.
const PATH: &str = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The user who runs a command in the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The superuser.
    Root,
    /// An ordinary user.
    Dev,
}

impl Who {
    /// The home directory.
    pub fn home(self) -> &'static str {
        match self {
            Self::Root => "/root",
            Self::Dev => "/home/dev",
        }
    }

    /// A project's directory, which belongs to that user.
    pub fn project(self) -> &'static str {
        match self {
            Self::Root => "/root/project",
            Self::Dev => "/home/dev/project",
        }
    }
}

/// A root directory with its own mounts and processes.
pub struct BareRoot {
    unshare: Child,
    directory: TempDir,
    init: i32,
}

impl BareRoot {
    /// Creates a root from busybox, with two users who have a project each.
    pub fn new() -> Self {
        let directory = TempDir::with_prefix("sandbridge-root-").unwrap();
        let root = directory.path();
        for name in ["bin", "etc", "proc", "dev", "usr/local", "var/lib", "run"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::fs::create_dir(root.join("tmp")).unwrap();
        std::fs::set_permissions(root.join("tmp"), PermissionsExt::from_mode(0o1777)).unwrap();
        std::fs::copy("/bin/busybox", root.join("bin/busybox")).unwrap();
        let applets = Command::new("busybox").arg("--list").output().unwrap();
        for applet in String::from_utf8(applets.stdout).unwrap().lines().filter(|name| *name != "busybox") {
            symlink("busybox", root.join("bin").join(applet)).unwrap();
        }
        std::fs::write(root.join("etc/passwd"), "root:x:0:0:root:/root:/bin/sh\n").unwrap();
        Self::start(directory)
    }

    /// Creates a Debian root with the same users; `None` if `scripts/test` was not asked for it.
    pub fn debian() -> Option<Self> {
        let archive = PathBuf::from(std::env::var_os("SANDBRIDGE_DEBIAN_ROOT")?);
        let directory = TempDir::with_prefix("sandbridge-root-").unwrap();
        let mut tar = Command::new("tar");
        let unpacked = tar.arg("-xpf").arg(archive).arg("-C").arg(directory.path()).status().unwrap();
        assert!(unpacked.success());
        Some(Self::start(directory))
    }

    fn start(directory: TempDir) -> Self {
        let root = directory.path();
        std::fs::set_permissions(root, PermissionsExt::from_mode(0o755)).unwrap();
        for who in [Who::Root, Who::Dev] {
            std::fs::create_dir_all(root.join(&who.project()[1..])).unwrap();
        }
        for own in ["home/dev", "home/dev/project"] {
            chown(root.join(own), Some(DEV), Some(DEV)).unwrap();
        }
        let mut users = OpenOptions::new().append(true).open(root.join("etc/passwd")).unwrap();
        writeln!(users, "dev:x:{DEV}:{DEV}:dev:/home/dev:/bin/sh").unwrap();
        std::fs::write(root.join("etc/hosts"), "127.0.0.1 localhost\n").unwrap();
        let mut unshare = Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", SET_UP, "sh"])
            .arg(root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(unshare.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "the root could not be set up");
        let init = eventually("the first process is there", SET_UP_WITHIN, || {
            process::children(unshare.id() as i32).first().copied()
        });
        Self { unshare, directory, init }
    }

    /// The path on this machine of a file in the root.
    pub fn path(&self, path: &str) -> PathBuf {
        // Through the first process, to include its mounts.
        PathBuf::from(format!("/proc/{}/root{path}", self.init))
    }

    /// A shell there that reads its lines from standard input, in a directory.
    pub fn shell(&self, who: Who, directory: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg("--target").arg(self.init.to_string()).args(["--mount", "--pid"]);
        if who == Who::Dev {
            command.args(["--setuid", &DEV.to_string(), "--setgid", &DEV.to_string()]);
        }
        command.arg(format!("--wdns={directory}")).arg("/bin/sh");
        command.env_clear().env("HOME", who.home()).env("PATH", PATH);
        command
    }

    /// Runs lines of a shell there, in the user's project.
    pub fn run(&self, who: Who, lines: &str) -> Output {
        run(self.shell(who, who.project()), lines.as_bytes())
    }

    /// The processes there, by their numbers here.
    pub fn processes(&self) -> Vec<i32> {
        let mut all = vec![self.init];
        let mut next = 0;
        while let Some(&pid) = all.get(next) {
            all.extend(process::children(pid));
            next += 1;
        }
        let namespace = |pid: i32| std::fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let own = namespace(self.init);
        let entered = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let entered: Vec<i32> = entered.filter(|&pid| namespace(pid) == own && !all.contains(&pid)).collect();
        for pid in entered {
            all.push(pid);
            all.extend(process::children(pid));
        }
        all
    }

    /// Every file and directory: its type, mode and owner, a link's target, and the SHA-256 of its content.
    pub fn tree(&self) -> BTreeMap<String, String> {
        let find = |action: &[&str]| {
            let output = Command::new("find")
                .arg(".")
                .args(action)
                .current_dir(self.directory.path())
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let listed = find(&["-printf", "%p\t%y %m %U %G %l\n"]);
        let mut tree: BTreeMap<String, String> = listed
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(path, about)| (path.to_owned(), about.to_owned()))
            .collect();
        for line in find(&["-type", "f", "-exec", "sha256sum", "{}", "+"]).lines() {
            let (hash, path) = line.split_once("  ").unwrap();
            tree.get_mut(path).unwrap().push_str(hash);
        }
        tree
    }

    /// The files that contain these words.
    pub fn holding(&self, words: &str) -> Vec<PathBuf> {
        let found = Command::new("grep").args(["-rlaFe", words]).arg(self.directory.path()).output().unwrap();
        String::from_utf8(found.stdout).unwrap().lines().map(PathBuf::from).collect()
    }
}

impl Default for BareRoot {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for BareRoot {
    fn drop(&mut self) {
        // The end of the first process ends every process in its namespace, and its mounts.
        process::signal(self.init, rustix::process::Signal::KILL);
        let _ = self.unshare.wait();
    }
}
