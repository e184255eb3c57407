//! A workspace with a spawner, and a synchronous way to run commands in it.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use runner::bounds::Bounds;
use runner::confine::ConfinePolicy;
use runner::layers::Profile;
use runner::spawn::{Child, Exit, SpawnError, SpawnRequest, Spawned, Spawner};
use rustix::fs::OFlags;

/// How long anything in these tests may take before it counts as hanging.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Defines `call` in a Python program.
pub(crate) const PYTHON_CALL: &str = "\
import ctypes, os
library = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    return ctypes.get_errno() if library.syscall(*arguments) == -1 else 0
";

pub(crate) struct Bench {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) policy: ConfinePolicy,
    pub(crate) spawner: Spawner,
}

pub(crate) struct Output {
    pub(crate) exit: Exit,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Output {
    pub(crate) fn succeeded(&self) -> bool {
        self.exit == Exit::Code(0)
    }
}

impl Bench {
    pub(crate) fn new(profile: Profile) -> Self {
        Self::try_bounded(profile, Bounds::default()).unwrap()
    }

    /// A bench with bounds, which this machine may not support.
    pub(crate) fn try_bounded(profile: Profile, bounds: Bounds) -> Result<Self, SpawnError> {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work");
        std::fs::create_dir(&workspace).unwrap();
        let policy = ConfinePolicy::detect(&workspace, &directory.path().join("state")).unwrap();
        // The git configuration of this machine's user must not matter.
        let policy = ConfinePolicy { bounds, git_refuses_bare: true, ..policy };
        let spawner = Spawner::start(profile, &policy)?;
        Ok(Self { directory, policy, spawner })
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.policy.workspace
    }

    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn start(&self, script: &str) -> Spawned {
        self.spawner.spawn_blocking(shell(script)).unwrap()
    }

    pub(crate) fn run(&self, script: &str) -> Output {
        finish(self.start(script))
    }

    /// Runs a confined Python program, which has `ctypes`, `os` and a `call` that returns an errno, 0 for success.
    pub(crate) fn python(&self, program: &str) -> Output {
        let program = format!("{PYTHON_CALL}{program}");
        let request = SpawnRequest { argv: argv(&["python3", "-c", &program]), ..SpawnRequest::default() };
        finish(self.spawner.spawn_blocking(request).unwrap())
    }

    /// Runs a system call by number in a confined process and returns its errno, 0 for success.
    pub(crate) fn errno_of(&self, call: i64, arguments: &str) -> i32 {
        let output = self.python(&format!("print(call({call}, {arguments}))"));
        output.stdout.trim().parse().unwrap_or_else(|_| panic!("{call}({arguments}): {}", output.stderr))
    }
}

pub(crate) fn shell(script: &str) -> SpawnRequest {
    SpawnRequest { argv: argv(&["sh", "-c", script]), ..SpawnRequest::default() }
}

pub(crate) fn argv(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// Reads both streams to their end and returns them with the status.
pub(crate) fn finish(mut spawned: Spawned) -> Output {
    drop(spawned.stdin.take());
    let stderr = spawned.stderr.take().map(|pipe| std::thread::spawn(move || read_all(pipe)));
    let stdout = read_all(spawned.stdout);
    let stderr = stderr.map_or_else(String::new, |reader| reader.join().unwrap());
    Output { exit: wait(&mut spawned.child), stdout, stderr }
}

pub(crate) fn read_all(pipe: OwnedFd) -> String {
    rustix::fs::fcntl_setfl(&pipe, OFlags::empty()).unwrap();
    let mut bytes = Vec::new();
    File::from(pipe).read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads one line, and leaves the pipe open.
pub(crate) fn read_line(pipe: &OwnedFd) -> String {
    rustix::fs::fcntl_setfl(pipe, OFlags::empty()).unwrap();
    let mut line = Vec::new();
    let mut byte = [0_u8; 1];
    while rustix::io::read(pipe, &mut byte).unwrap() == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

pub(crate) fn wait(child: &mut Child) -> Exit {
    let mut exit = None;
    until("the command ends", || {
        exit = child.try_wait().unwrap();
        exit.is_some()
    });
    exit.unwrap()
}

/// Polls a condition; panics if it does not become true in time.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "gave up waiting until {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs git outside of any sandbox, as the user does.
pub(crate) fn git(directory: &Path, words: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "protocol.file.allow=always"])
        .args(words)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
}
