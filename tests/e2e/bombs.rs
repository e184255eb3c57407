//! Commands that exhaust a resource: each ends with a result or a typed error in bounded time, the runner and the server
//! survive, and the next commands of the same user and of another one work.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::http::Client;
use tests::{Machine, Output, Person, Server, eventually};

/// The longest time that a bomb may take to end, including its time limit and the kill.
const OVER_WITHIN: Duration = Duration::from_secs(180);

/// The longest time that an ordinary command may take right after a bomb.
const NEXT_WITHIN: Duration = Duration::from_secs(60);

/// The size of the workspace that a command fills, in MiB.
const DISK_MIB: usize = 8;

/// Two users with a machine each; the first user's machine is attacked.
struct BombTest {
    server: Server,
    alice: Person,
    laptop: Machine,
    runner: i32,
    bob: Person,
    _desktop: Machine,
}

impl BombTest {
    fn new(options: &[&str]) -> Self {
        Self::in_workspace(TempDir::with_prefix("sandbridge-bomb-").unwrap(), options)
    }

    fn in_workspace(workspace: TempDir, options: &[&str]) -> Self {
        let server = Server::start();
        let (alice, bob) = (server.person("alice"), server.person("bob"));
        let laptop = Machine::start_with_workspace(workspace, &server, &alice, "laptop", options);
        let desktop = Machine::start(&server, &bob, "desktop");
        let runner = laptop.runner_pid();
        Self { server, alice, laptop, runner, bob, _desktop: desktop }
    }

    /// Runs a command with a time limit, and checks that it ends in time.
    fn bomb(&self, timeout_s: &str, script: &str) -> Output {
        let begun = Instant::now();
        let output = self.alice.run(&["exec", "--timeout", timeout_s, "--", "sh", "-c", script]);
        assert!(begun.elapsed() < OVER_WITHIN, "{script}: took {:?}", begun.elapsed());
        output
    }

    fn python(&self, program: &str) -> Output {
        std::fs::write(self.laptop.workspace().join("bomb.py"), program).unwrap();
        self.bomb("30", "exec python3 bomb.py")
    }

    /// Checks that both users' next commands work, on the same runner processes as before.
    fn goes_on(&self) {
        eventually("the next command of the same user works", NEXT_WITHIN, || {
            let next = self.alice.run(&["exec", "--", "sh", "-c", "echo $((6 * 7))"]);
            (next.stdout == "42\n").then_some(())
        });
        let next = self.bob.run(&["exec", "--", "echo", "fine"]);
        assert_eq!((next.stdout.as_str(), next.code), ("fine\n", 0), "{}", next.stderr);
        assert_eq!(self.laptop.runner_pid(), self.runner, "the runner was started again");
    }
}

/// Returns true if limits for all commands together are available here; if not, a runner that is asked for such limits must report that.
fn has_limits() -> bool {
    let directory = TempDir::new().unwrap();
    let mut runner = Command::new(tests::binaries::runner());
    runner
        .args(["--stdio", "--memory", "64M", "--pids", "64", "--state-dir"])
        .arg(directory.path().join("state"));
    let workspace = TempDir::new().unwrap();
    runner.arg("--workspace").arg(workspace.path()).stdin(Stdio::piped());
    let output = runner.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() || text.contains("Leave the limit out") || text.contains("--memory"),
        "{text}"
    );
    output.status.success()
}

#[test]
fn a_fork_bomb_that_reaches_its_limit_is_ended_and_the_limit_named() {
    let test = BombTest::new(&["--pids", "64"]);
    // These shells give up when a fork is refused, often before the runner's next check; the limit is still named.
    let output = test.bomb("5", "bomb() { bomb | bomb & }; bomb 2>/dev/null; sleep 60");
    assert!([2, 124, 137].contains(&output.code), "{output:?}");
    assert!(output.stderr.contains("limit of 64 processes"), "{output:?}");
    test.goes_on();
    // This process exhausts the limit, and starts new processes whenever it can.
    let full = test.python(
        "import os, time\nwhile True:\n    try: child = os.fork()\n    except OSError: child = time.sleep(0.05)\n    \
         if child == 0: time.sleep(60)",
    );
    assert!(full.code == 137 && full.stderr.contains("ended by the runner"), "{full:?}");
    assert!(full.stderr.contains("limit of 64 processes") && full.stderr.contains("--pids"), "{full:?}");
    test.goes_on();
}

#[test]
fn a_fork_bomb_below_the_limit_ends_with_its_timeout() {
    let test = BombTest::new(&[]);
    // More than a hundred shells, each in a separate session, restart any shell that ends.
    std::fs::write(
        test.laptop.workspace().join("bomb.sh"),
        "[ $1 -gt 0 ] && { setsid sh bomb.sh $(($1 - 1)) & setsid sh bomb.sh $(($1 - 1)) & }\nwhile :; do sleep 0.1; done",
    )
    .unwrap();
    let output = test.bomb("2", "sh bomb.sh 6");
    assert_eq!(output.code, 124, "{output:?}");
    test.goes_on();
    let left = test.alice.run(&["exec", "--", "sh", "-c", "ls -d /proc/[0-9]* | wc -l"]);
    let left: usize = left.stdout.trim().parse().unwrap();
    assert!(left < 10, "{left} processes are left");
}

#[test]
fn a_memory_bomb_is_killed_and_the_reason_reported() {
    if !has_limits() {
        return;
    }
    let test = BombTest::new(&["--memory", "96M"]);
    let alone = test.python("held = []\nwhile True: held.append(bytearray(1 << 20))");
    assert_eq!(alone.code, 137, "{alone:?}");
    assert!(alone.stderr.contains("96 MiB") && alone.stderr.contains("--memory"), "{}", alone.stderr);
    test.goes_on();
    let together = "for i in 1 2 3 4; do python3 -c 'held = bytearray(60 << 20); import time; time.sleep(60)' & done; wait; echo over";
    let together = test.bomb("2", together);
    assert!([0, 124, 137].contains(&together.code), "{together:?}");
    test.goes_on();
    // Temporary files are in memory that killing processes does not release, so they have a separate limit.
    let files = test.bomb("10", "head -c 500M /dev/zero > /tmp/fill; head -c 500M /dev/zero > /dev/shm/fill");
    assert_eq!(files.code, 1, "{files:?}");
    assert!(files.stderr.contains("No space"), "{}", files.stderr);
    test.goes_on();
}

/// A small file system mounted on a directory; both are removed when this is dropped.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path) -> Self {
        let options = format!("size={DISK_MIB}m");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(at).status();
        assert!(mount.unwrap().success());
        Self(at.to_owned())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("--lazy").arg(&self.0).status();
        assert!(unmounted.unwrap().success() && std::fs::remove_dir(&self.0).is_ok());
    }
}

/// The report of `doctor` about a workspace.
fn doctor(workspace: &Path) -> String {
    let state = TempDir::new().unwrap();
    let mut doctor = Command::new(tests::binaries::runner());
    doctor.arg("doctor").arg("--workspace").arg(workspace).arg("--state-dir").arg(state.path());
    String::from_utf8(doctor.output().unwrap().stdout).unwrap()
}

#[test]
fn a_full_disk_is_an_error_and_delays_nothing_else() {
    let workspace = TempDir::with_prefix("sandbridge-disk-").unwrap();
    let _disk = Disk::mount(workspace.path());
    let test = BombTest::in_workspace(workspace, &[]);
    let filler = test.bomb("10", "head -c 100M /dev/zero > fill");
    assert_eq!(filler.code, 1, "{filler:?}");
    assert!(
        filler.stderr.contains("No space") && filler.stderr.contains("the workspace is on is full"),
        "{filler:?}"
    );
    assert!(doctor(test.laptop.workspace()).contains("has 0 MiB of 8 MiB left"));
    let client = Client::login(&test.server, "alice");
    let written = client.send("PUT", "/files?path=more", &vec![0; 1 << 20]);
    assert_eq!(written.kind(), "no_space", "{written:?}");
    test.goes_on();
    // Command output works, because it is not stored on the full disk.
    let output = test.bomb("10", "head -c 20M /dev/zero");
    assert_eq!(output.stdout_bytes.len(), 20 << 20);
    assert_eq!(client.call("DELETE", "/files?path=fill").status, 204);
    assert_eq!(client.send("PUT", "/files?path=more", &vec![0; 1 << 20]).status, 200);
}

#[test]
fn open_files_are_limited_per_command() {
    let test = BombTest::new(&["--open-files", "200"]);
    let hog = "import os, sys, time\nheld = []\ntry:\n    while True: held.append(os.open('/dev/null', 0))\n\
               except OSError as error: print(error.errno, len(held) > 100, flush=True)\ntime.sleep(2)";
    std::fs::write(test.laptop.workspace().join("bomb.py"), hog).unwrap();
    let mut caller = test.alice.command(&["exec", "--", "python3", "bomb.py"]);
    let mut caller = caller.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = [0; 8];
    caller.stdout.as_mut().unwrap().read_exact(&mut told).unwrap();
    assert_eq!(&told, b"24 True\n");
    test.goes_on();
    assert!(caller.wait().unwrap().success());
}

#[test]
fn endless_output_that_nobody_reads_delays_nobody() {
    let test = BombTest::new(&[]);
    let mut caller = test.alice.command(&["exec", "--", "yes"]);
    let mut caller = caller.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    caller.stdout.as_mut().unwrap().read_exact(&mut [0; 1024]).unwrap();
    test.goes_on();
    caller.kill().unwrap();
    caller.wait().unwrap();
    test.goes_on();
}

#[test]
fn many_files_long_chains_of_links_and_endless_files_are_handled() {
    let test = BombTest::new(&[]);
    let client = Client::login(&test.server, "alice");
    let made = test.python(
        "import os\nos.mkdir('many')\nfor i in range(10000): open(f'many/{i}', 'w').close()\n\
         open('l0', 'w').write('x')\nfor i in range(1, 42): os.symlink(f'l{i - 1}', f'l{i}')\n\
         os.makedirs('deep' + '/d' * 200)\nos.mkfifo('fifo')\nos.symlink('/dev/zero', 'zero')",
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    let asked = |method: &str, path: &str| {
        let begun = Instant::now();
        let answer = client.call(method, path);
        assert!(begun.elapsed() < NEXT_WITHIN, "{path}: took {:?}", begun.elapsed());
        answer
    };
    let list = asked("GET", "/files/list?path=many");
    assert_eq!((list.status, String::from_utf8_lossy(&list.body).matches("\"name\"").count()), (200, 10_000));
    assert_eq!(asked("GET", "/files?path=l30").status, 200);
    assert_eq!(asked("GET", "/files?path=l41").kind(), "too_many_symlinks");
    assert_ne!(test.bomb("5", "cat l41").code, 0);
    assert_eq!(asked("GET", "/files?path=fifo").kind(), "special_file");
    assert_ne!(asked("GET", "/files?path=zero").status, 200);
    assert_eq!(test.bomb("1", "cat fifo").code, 124);
    assert_eq!(test.bomb("1", "cat zero > /dev/null").code, 124);
    assert_eq!(
        test.bomb("10", "ls many | wc -l; ls many/*7 | wc -l; head -c 10 zero | wc -c").stdout,
        "10000\n1000\n10\n"
    );
    assert_eq!(asked("DELETE", "/files?path=many&recursive=true").status, 204);
    assert_eq!(asked("DELETE", "/files?path=deep&recursive=true").status, 204);
    assert!(!test.laptop.workspace().join("many").exists() && !test.laptop.workspace().join("deep").exists());
    test.goes_on();
}
