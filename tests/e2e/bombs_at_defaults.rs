//! Bombs on a runner with its default limits, and with each mechanism that can enforce them: programs outside the sandbox can start all the time, the
//! next command works, and the bomb's last output names the limit.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::{Machine, Output, Person, Server, binaries};

/// The time limit of a bomb, in seconds, by which the runner must have ended it.
const OVER_WITHIN_S: &str = "150";

/// The longest time that the next command may take.
const NEXT_WITHIN: Duration = Duration::from_secs(60);

/// The user id of an ordinary user.
const NOBODY: u32 = 65_534;

/// Shells that give up when a fork is refused; they may all have ended before the runner's next check, but the limit must still be named.
const FORKS: &str = "bomb() { bomb | bomb & }; bomb; sleep 10; false";

/// Shells that are each in a separate session, and detached from their parents.
const SESSIONS: &str =
    "cat > b.sh <<'END'\nsetsid sh b.sh & setsid sh b.sh & wait\nEND\nsetsid sh b.sh & sleep 200";

const PIPES: &str = "while :; do sleep 200 | cat | cat | cat > /dev/null & done; sleep 200";

/// Fills pipes, whose data is in kernel memory.
const FULL_PIPES: &str = "ulimit -n $(ulimit -Hn); exec python3 -c 'import os, time\nheld = []\n\
                          while os.fork() > 0: time.sleep(0.05)\nwhile True:\n    \
                          try: pipe = os.pipe()\n    except OSError: time.sleep(200)\n    \
                          os.set_blocking(pipe[1], False)\n    held.append(pipe)\n    os.write(pipe[1], bytes(1 << 16))'";

/// The threads wait: if each of them started more threads, Python would be busy passing its lock around long before it reached the limit.
const THREADS: &str = "exec python3 -c 'import threading, time\nwhile True:\n    try: threading.Thread(target=time.sleep, args=(200,)).start()\n    \
                       except RuntimeError: time.sleep(0.01)'";

/// A process that reaches the limit, and starts new processes whenever it can.
const CROWD: &str = "exec python3 -c 'import os, time\nwhile True:\n    try: child = os.fork()\n    except OSError: child = time.sleep(0.01)\n    \
                     if child == 0: time.sleep(200)'";

/// As [`CROWD`], but slow enough that a runner that only counts processes, without any mechanism of the kernel, can keep up.
const SLOW_CROWD: &str = "exec python3 -c 'import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(200)\n    time.sleep(0.003)'";

/// Opens descriptors, for a minute at most, because a machine without free descriptors can do nothing.
const DESCRIPTORS: &str = "ulimit -n $(ulimit -Hn); exec python3 -c 'import os, time\nwhile os.fork() > 0: time.sleep(0.02)\n\
                           try:\n    while True: os.open(\"/dev/null\", 0)\nexcept OSError: time.sleep(60)'";

const MEMORY: &str = "exec python3 -c 'held = []\nwhile True: held.append(bytearray(1 << 20))'";

/// Many processes that each use little memory.
const MEMORY_OF_MANY: &str = "for i in 1 2 3 4 5 6 7 8; do python3 -c 'import time\nheld = bytearray(60 << 20)\ntime.sleep(200)' & done; wait";

/// Starts programs continuously, like the rest of the machine.
struct Outside {
    is_over: Arc<AtomicBool>,
    worst_ms: Arc<AtomicU64>,
    thread: JoinHandle<u32>,
}

impl Outside {
    fn watch() -> Self {
        let (is_over, worst_ms) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (over, worst) = (Arc::clone(&is_over), Arc::clone(&worst_ms));
        let thread = std::thread::spawn(move || {
            let mut started = 0;
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let status = Command::new("true").status().expect("the machine can start programs");
                assert!(status.success());
                worst.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
                started += 1;
                std::thread::sleep(Duration::from_millis(20));
            }
            started
        });
        Self { is_over, worst_ms, thread }
    }

    /// Checks that every program outside started.
    fn went_on(self) {
        self.is_over.store(true, Ordering::Relaxed);
        let started = self.thread.join().expect("a program outside could not be started");
        eprintln!(
            "{started} programs outside, the slowest took {} ms",
            self.worst_ms.load(Ordering::Relaxed)
        );
        assert!(started > 0);
    }
}

struct BombTest {
    _server: Server,
    alice: Person,
    _machine: Machine,
    _workspace: TempDir,
}

impl BombTest {
    fn new(user: Option<u32>, options: &[&str]) -> Self {
        let server = Server::start();
        let alice = server.person("alice");
        let workspace = TempDir::with_prefix("sandbridge-bomb-").unwrap();
        std::os::unix::fs::chown(workspace.path(), user, user).unwrap();
        let machine = Machine::start_in_with(&server, &alice, "laptop", workspace.path(), options);
        Self { _server: server, alice, _machine: machine, _workspace: workspace }
    }

    /// Runs a bomb; checks that its output contains `words`, and that the next command works.
    fn survives(&self, bomb: &str, words: &str) {
        let outside = Outside::watch();
        let begun = Instant::now();
        let output = self.alice.run(&["exec", "--timeout", OVER_WITHIN_S, "--", "sh", "-c", bomb]);
        let took = begun.elapsed();
        let next = self.next();
        outside.went_on();
        eprintln!("over after {took:?}, the next one after {next:?}: {bomb}");
        // Processes that a bomb left may still print errors after the runner has reported the reason.
        let is_told = output.stderr.contains(words);
        assert!(is_told && output.code != 124, "{bomb}: {} {}", output.code, told(&output));
    }

    /// The time until a command works.
    fn next(&self) -> Duration {
        let begun = Instant::now();
        loop {
            let next = self.alice.run(&["exec", "--", "sh", "-c", "echo $(echo still here)"]);
            if next.stdout == "still here\n" {
                let took = begun.elapsed();
                assert!(took < NEXT_WITHIN, "{took:?}");
                return took;
            }
            assert!(begun.elapsed() < NEXT_WITHIN, "{next:?}");
        }
    }

    /// The runner's report about its limits.
    fn layer(&self) -> String {
        let list = self.alice.run(&["runner", "list", "--json"]).stdout;
        let list: serde_json::Value = serde_json::from_str(&list).unwrap();
        let layers = list[0]["layers"].as_array().unwrap();
        let layer = layers.iter().find(|layer| layer["name"] == "limits").unwrap();
        format!("{} {}", layer["holds"], layer["detail"])
    }
}

/// The end of a bomb's standard error: some bombs complain about every fork.
fn told(output: &Output) -> String {
    let start = output.stderr.char_indices().rev().nth(300).map_or(0, |(at, _)| at);
    output.stderr[start..].to_owned()
}

fn users() -> Vec<Option<u32>> {
    if rustix::process::geteuid().is_root() { vec![None, Some(NOBODY)] } else { vec![None] }
}

#[test]
fn fork_bombs_at_default_limits_are_ended_with_the_limit_they_reached() {
    for user in users() {
        let test = BombTest::new(user, &[]);
        let layer = test.layer();
        assert!(layer.starts_with("true") && !layer.contains("switched off"), "{layer}");
        for bomb in [FORKS, PIPES, THREADS, CROWD] {
            test.survives(bomb, "processes");
        }
        if layer.contains("cgroup") {
            test.survives(SESSIONS, "processes");
        }
    }
}

#[test]
fn open_files_without_any_option_are_ended_before_the_machine_has_none() {
    for user in users() {
        BombTest::new(user, &[]).survives(DESCRIPTORS, "ended by the runner");
    }
}

#[test]
fn memory_limits_are_enforced_and_named_by_the_kernel_and_by_counting() {
    for user in users() {
        for by in [&[][..], &["--limits-by", "none"]] {
            let test = BombTest::new(user, &[&["--memory", "256M"], by].concat());
            test.survives(MEMORY, "256 MiB");
            if user.is_none() && by.is_empty() && rustix::process::geteuid().is_root() {
                test.survives(FULL_PIPES, "256 MiB");
            }
            test.survives(MEMORY_OF_MANY, "256 MiB");
        }
    }
}

#[test]
fn a_full_temporary_directory_is_reported_with_its_size() {
    for user in users() {
        // The limit is a quarter of the machine's memory.
        let test = BombTest::new(user, &["--memory", "256M"]);
        test.survives("head -c 1G /dev/zero > /tmp/fill", "/tmp is full: it holds 64 MiB");
        test.survives("head -c 1G /dev/zero > /dev/shm/fill", "is full");
        test.survives("dd if=/dev/zero of=/tmp/more bs=64k", "remove what is not needed");
    }
}

#[test]
fn each_available_mechanism_enforces_the_limit_when_chosen() {
    let pids = tests::random::count("SANDBRIDGE_PIDS", 300);
    let most = format!("{} processes", grouped(pids));
    let limit = format!("limit of {most}");
    let mut tried = Vec::new();
    for user in users() {
        for by in ["cgroup2", "cgroup1", "namespace", "rlimit"] {
            if !can_have(user, by) {
                continue;
            }
            let test = BombTest::new(user, &["--pids", &pids.to_string(), "--limits-by", by]);
            let layer = test.layer();
            let words = match by {
                "cgroup2" => "(cgroup v2)",
                "cgroup1" => "(cgroup v1)",
                "namespace" => "(own PID namespace)",
                _ => "(RLIMIT_NPROC of their user)",
            };
            assert!(layer.starts_with("true") && layer.contains(words), "{layer}");
            test.survives(CROWD, &limit);
            test.survives(THREADS, &limit);
            test.survives(SESSIONS, &most);
            tried.push((user, by));
        }
    }
    eprintln!("tried: {tried:?}");
    assert!(!tried.is_empty());
}

#[test]
fn a_machine_without_a_mechanism_reports_that_and_counts() {
    for user in users() {
        let test = BombTest::new(user, &["--pids", "300", "--limits-by", "none"]);
        let layer = test.layer();
        assert!(layer.starts_with("false") && layer.contains("counted by the runner only"), "{layer}");
        test.survives(SLOW_CROWD, "limit of 300 processes");
        // A process whose parent exits first is ended too.
        let left = format!("({SLOW_CROWD}) > /dev/null 2>&1 &");
        assert_eq!(test.alice.run(&["exec", "--", "sh", "-c", &left]).code, 0);
        tests::eventually("the processes left behind have ended", Duration::from_secs(60), || {
            let count = test.alice.run(&["exec", "--", "sh", "-c", "ls -d /proc/[0-9]* | wc -l"]).stdout;
            count.trim().parse::<u32>().is_ok_and(|count| count < 20).then_some(())
        });
    }
}

#[test]
fn a_server_that_requires_limits_refuses_a_runner_without() {
    let server = Server::start_with(&["--require", "limits"]);
    let alice = server.person("alice");
    let options: [(&[&str], bool); 4] = [
        (&[], true),
        (&["--limits-by", "none"], false),
        (&["--pids", "none"], false),
        (&["--memory", "none"], false),
    ];
    for (number, (options, runs)) in options.into_iter().enumerate() {
        let name = format!("laptop{number}");
        let _machine = Machine::start_with(&server, &alice, &name, options);
        alice.run(&["use", &name]);
        let output = alice.run(&["exec", "--", "true"]);
        assert_eq!(output.code == 0, runs, "{options:?}: {output:?}");
        assert!(runs || output.stderr.contains("limits"), "{output:?}");
    }
}

/// Formats a number as the runner does, with commas between groups of thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev().map(|part| std::str::from_utf8(part).unwrap());
    parts.collect::<Vec<_>>().join(",")
}

/// Returns true if a runner of this user can use this mechanism to limit processes here.
fn can_have(user: Option<u32>, by: &str) -> bool {
    let directory = TempDir::new().unwrap();
    std::os::unix::fs::chown(directory.path(), user, user).unwrap();
    let path = |name: &str| -> PathBuf {
        let path = directory.path().join(name);
        std::fs::create_dir(&path).unwrap();
        std::os::unix::fs::chown(&path, user, user).unwrap();
        path
    };
    let mut doctor = binaries::as_owner_of(directory.path(), &binaries::runner());
    doctor.args(["doctor", "--pids", "300", "--limits-by", by, "--workspace"]).arg(path("workspace"));
    let output = doctor.arg("--state-dir").arg(path("state")).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().any(|line| line.starts_with("ok       limits"))
}
