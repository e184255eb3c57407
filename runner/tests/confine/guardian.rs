//! Nothing outlives the guardian or the runner, whichever is killed and however.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use runner::kill;
use runner::layers::Profile;
use runner::spawn::{Exit, Spawned};
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bench, PATIENCE, read_line, until, wait};

/// A script whose processes are recognized by a unique number of seconds to sleep, one of them detached.
fn script(seconds: u32) -> String {
    format!("setsid sh -c 'sleep {seconds} & sleep {seconds}' & sleep {seconds}")
}

fn survivors(seconds: u32) -> usize {
    let sleeper = format!("sleep\0{seconds}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == sleeper.as_bytes()))
        .count()
}

fn program() -> PathBuf {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let program = path.join("examples/guarded");
    assert!(program.exists(), "build the examples of this package too: cargo build --examples -p runner");
    program
}

/// The user of a guarded runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The user of these tests.
    Us,
    /// A user without privileges.
    Nobody,
    /// The user of these tests, without CAP_SYS_ADMIN: like root in most containers.
    WithoutAdmin,
}

pub(crate) struct Guarded {
    pub(crate) directory: tempfile::TempDir,
    pub(crate) guardian: Child,
    lines: Receiver<String>,
}

impl Guarded {
    pub(crate) fn start(script: &str, who: Who) -> Self {
        Self::bounded(script, who, "{}")
    }

    /// A guarded runner with bounds in JSON.
    pub(crate) fn bounded(script: &str, who: Who, bounds: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let workspace = directory.path().join("work");
        fs::create_dir(&workspace).unwrap();
        let mut command = if who == Who::Nobody {
            // A user who owns the directory, can reach the program, and is otherwise unused.
            std::os::unix::fs::chown(directory.path(), Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
            std::os::unix::fs::chown(&workspace, Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
            let program_copy = directory.path().join("guarded");
            fs::copy(program(), &program_copy).unwrap();
            let mut command = Command::new("setpriv");
            let id = UNPRIVILEGED.to_string();
            command.args(["--reuid", &id, "--regid", &id, "--clear-groups"]).arg(program_copy);
            command.env("HOME", directory.path());
            command
        } else if who == Who::WithoutAdmin {
            let mut command = Command::new("setpriv");
            command.args(["--bounding-set", "-sys_admin", "--inh-caps", "-all"]).arg(program());
            command
        } else {
            Command::new(program())
        };
        command.env("GUARDED_BOUNDS", bounds);
        command.arg(&workspace).arg(directory.path().join("state")).arg(script);
        let mut guardian = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(guardian.stdout.take().unwrap());
        let (sender, lines) = channel();
        // Ends with the last process that holds the pipe, or when the receiver is dropped.
        std::thread::spawn(move || {
            output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { directory, guardian, lines }
    }

    /// The words of the next line, `ready PID TIER KILLING`.
    pub(crate) fn line(&mut self) -> Vec<String> {
        let line = self.lines.recv_timeout(PATIENCE).expect("the runner prints a line in time");
        line.split_whitespace().map(str::to_owned).collect()
    }

    /// The words of the next line; `None` if the runner ends without printing one.
    pub(crate) fn try_line(&mut self) -> Option<Vec<String>> {
        let line = self.lines.recv_timeout(PATIENCE).ok()?;
        Some(line.split_whitespace().map(str::to_owned).collect())
    }

    pub(crate) fn runner(&self) -> Pid {
        first_child(self.guardian.id())
    }
}

pub(crate) fn first_child(pid: u32) -> Pid {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.guardian.kill();
        let _ = self.guardian.wait();
    }
}

const UNPRIVILEGED: u32 = 61_234;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn killing_the_guardian_leaves_nothing() {
    let mut guarded = Guarded::start(&script(7101), Who::Us);
    assert_eq!(guarded.line()[0], "ready");
    until("the command runs", || survivors(7101) == 3);
    guarded.guardian.kill().unwrap();
    until("all are gone", || survivors(7101) == 0);
}

#[test]
fn killing_the_runner_leaves_nothing() {
    let mut guarded = Guarded::start(&script(7102), Who::Us);
    assert_eq!(guarded.line()[0], "ready");
    until("the command runs", || survivors(7102) == 3);
    kill_process(guarded.runner(), Signal::KILL).unwrap();
    until("all are gone", || survivors(7102) == 0);
    assert_eq!(guarded.guardian.wait().unwrap().code(), Some(137));
}

#[test]
fn a_request_to_stop_reaches_the_runner_and_its_code_comes_back() {
    let mut guarded = Guarded::start(&script(7103), Who::Us);
    assert_eq!(guarded.line()[0], "ready");
    let guardian = Pid::from_raw(guarded.guardian.id().cast_signed()).unwrap();
    kill_process(guardian, Signal::TERM).unwrap();
    assert_eq!(guarded.guardian.wait().unwrap().code(), Some(0));
    assert_eq!(survivors(7103), 0);
}

#[test]
fn a_runner_that_crashes_is_started_again() {
    let mut guarded = Guarded::start("crash", Who::Us);
    assert_eq!(guarded.line()[0], "ready");
    assert_eq!(guarded.line()[0], "ready");
}

#[test]
fn root_gets_its_own_process_namespace() {
    let mut guarded = Guarded::start("true", Who::Us);
    let words = guarded.line();
    assert!(!is_root() || words[2] == "pid-namespace", "{words:?}");
    assert!(words[3].ends_with("trees_by_marks"), "{words:?}");
}

/// The process to kill.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Guardian,
    Runner,
}

/// Starts sleepers in the tier that `who` gets here, kills, and waits until none is left; returns the tier.
fn kill_in_tier(who: Who, victim: Victim, seconds: u32) -> String {
    let mut guarded = Guarded::start(&script(seconds), who);
    let words = guarded.line();
    assert!(words[3].ends_with("trees_by_marks"), "{words:?}");
    until("the command runs", || survivors(seconds) == 3);
    match victim {
        Victim::Guardian => guarded.guardian.kill().unwrap(),
        Victim::Runner => kill_process(guarded.runner(), Signal::KILL).unwrap(),
    }
    until("all are gone", || survivors(seconds) == 0);
    words[2].clone()
}

#[test]
fn without_privileges_nothing_survives_either() {
    if !is_root() {
        // Everything above already ran without privileges.
        return;
    }
    for (victim, seconds) in [(Victim::Guardian, 7104), (Victim::Runner, 7107)] {
        let tier = kill_in_tier(Who::Nobody, victim, seconds);
        assert!(["user-pid-namespace", "subreaper"].contains(&tier.as_str()), "{tier} {victim:?}");
    }
}

#[test]
fn as_root_without_namespaces_nothing_survives_either() {
    if !is_root() {
        return;
    }
    for (victim, seconds) in [(Victim::Guardian, 7108), (Victim::Runner, 7109)] {
        assert_eq!(kill_in_tier(Who::WithoutAdmin, victim, seconds), "subreaper", "{victim:?}");
    }
}

#[test]
fn killed_while_it_starts_nothing_survives_in_any_tier() {
    let everyone: &[Who] = if is_root() { &[Who::Us, Who::Nobody, Who::WithoutAdmin] } else { &[Who::Us] };
    for (number, who) in everyone.iter().enumerate() {
        for (turn, delay_ms) in [0, 3, 10, 30, 100].into_iter().enumerate() {
            let seconds = 7200 + 10 * number as u32 + turn as u32;
            let mut guarded = Guarded::start(&script(seconds), *who);
            std::thread::sleep(Duration::from_millis(delay_ms));
            guarded.guardian.kill().unwrap();
            guarded.guardian.wait().unwrap();
            // The runner has the guardian's command line, and the processes it starts have the number: there is nothing in
            // between.
            let directory = guarded.directory.path().to_str().unwrap().to_owned();
            until("all are gone", || with_words(&[&directory, &format!("sleep {seconds}")]) == 0);
        }
    }
}

/// The number of processes whose command line contains one of these; a dead one has none.
fn with_words(words: &[&str]) -> usize {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| words.iter().any(|words| line.contains(words))).count()
}

/// A guarded runner inside a confined command. It ends with the test: the test itself has no guardian.
pub(crate) struct Nested {
    pub(crate) bench: Bench,
    pub(crate) spawned: Spawned,
}

impl Drop for Nested {
    fn drop(&mut self) {
        kill::kill_tree(self.spawned.child.mark());
    }
}

/// A runner inside a confined command has neither namespaces nor marks: the worst machine possible.
pub(crate) fn nested(script: &str) -> Nested {
    let bench = Bench::new(Profile::Workspace);
    fs::copy(program(), bench.workspace().join("guarded")).unwrap();
    fs::create_dir(bench.workspace().join("inner")).unwrap();
    fs::write(bench.workspace().join("inner/script"), script).unwrap();
    let spawned = bench.start("exec ./guarded inner state 'exec sh script'");
    let line = read_line(&spawned.stdout);
    assert!(line.ends_with(" subreaper subreaper,_trees_by_sessions"), "{line}");
    Nested { bench, spawned }
}

/// A nested runner with sleepers, once they are running.
fn nested_sleepers(seconds: u32) -> Nested {
    let nested = nested(&script(seconds));
    until("the command runs", || survivors(seconds) == 3);
    nested
}

#[test]
fn without_namespaces_killing_the_guardian_leaves_nothing() {
    let nested = nested_sleepers(7105);
    nested.spawned.child.signal(9).unwrap();
    until("all are gone", || survivors(7105) == 0);
}

#[test]
fn without_namespaces_killing_the_runner_leaves_nothing() {
    let mut nested = nested_sleepers(7106);
    kill_process(first_child(nested.spawned.child.pid()), Signal::KILL).unwrap();
    until("all are gone", || survivors(7106) == 0);
    assert_eq!(wait(&mut nested.spawned.child), Exit::Code(137));
}

#[test]
fn commands_see_no_process_of_the_machine() {
    let mut guarded = Guarded::start("ls /proc | grep -c '^[0-9]' > count; mv count done", Who::Us);
    let words = guarded.line();
    let file = guarded.directory.path().join("work/done");
    until("the command counted", || file.exists());
    let count: usize = fs::read_to_string(file).unwrap().trim().parse().unwrap();
    assert!(words[2] != "pid-namespace" || count <= 4, "{count} processes");
}

#[test]
fn the_memory_of_an_idle_guardian_and_runner_is_small() {
    let mut guarded = Guarded::start("true", Who::Us);
    guarded.line();
    let resident = |pid: Pid| -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_nonzero())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    let guardian = resident(Pid::from_raw(guarded.guardian.id().cast_signed()).unwrap());
    let runner = resident(guarded.runner());
    println!("guardian {guardian} KiB, runner {runner} KiB");
    assert!(guardian + runner < 12 * 1024, "guardian {guardian} KiB, runner {runner} KiB");
}

#[test]
fn a_token_on_the_command_line_is_gone_before_anything_runs() {
    for words in [&["--token", "SECRET", "rest"][..], &["--token=SECRET", "rest"]] {
        let output = Command::new(program()).args(words).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let (token, command_line) = text.split_once(' ').unwrap();
        assert_eq!(token, "SECRET");
        assert!(!command_line.contains("SECRET") && command_line.contains("rest"), "{command_line}");
    }
}
