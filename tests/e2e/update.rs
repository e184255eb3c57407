//! Updates: a runner replaces its own program while commands are running, and despite obstacles.

mod asked;
mod broken;
mod places;
mod tampered;
mod under_load;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;
use tests::server::{Output, run};
use tests::{Person, Server, binaries, eventually, process};

/// The version of everything that is built here, and therefore of the programs that servers hand out.
const NEW: &str = "0.1.0";
/// The version of an older runner. The text has the same length as [`NEW`], because it replaces that text in the program.
const OLD: &str = "0.0.9";
/// The timeout for every step, except for trials, which have a separate time limit.
const PATIENCE: Duration = Duration::from_secs(60);

/// A runner with a separate program file.
struct Runner {
    name: String,
    /// The directory of the program.
    directory: TempDir,
    workspace: TempDir,
    state: TempDir,
    process: Child,
    log: Arc<Mutex<String>>,
}

/// Puts a runner of another version into a directory: the static runner program, with the text of the version replaced.
fn put_program(directory: &Path, version: &str) -> PathBuf {
    let program = directory.join("sandbridge-runner");
    let mut content = std::fs::read(binaries::runner_static()).unwrap();
    let places: Vec<usize> = content
        .windows(NEW.len())
        .enumerate()
        .filter(|(_, window)| *window == NEW.as_bytes())
        .map(|(at, _)| at)
        .collect();
    for at in places {
        content[at..at + NEW.len()].copy_from_slice(version.as_bytes());
    }
    std::fs::write(&program, content).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(version_of(&program), version);
    program
}

fn version_of(program: &Path) -> String {
    let output = run(
        {
            let mut command = Command::new(program);
            command.arg("--version");
            command
        },
        b"",
    );
    output.stdout.trim().strip_prefix("sandbridge-runner ").unwrap_or_default().to_owned()
}

fn directory(what: &str) -> TempDir {
    TempDir::with_prefix(format!("sandbridge-update-{what}-")).unwrap()
}

impl Runner {
    /// Starts an older runner that is registered at `url`; returns when it is online.
    fn start(url: &str, person: &Person, name: &str, options: &[&str]) -> Self {
        let place = directory("program");
        put_program(place.path(), OLD);
        Self::start_in(place, url, person, name, options)
    }

    /// Starts an older runner with an existing program.
    fn start_in(place: TempDir, url: &str, person: &Person, name: &str, options: &[&str]) -> Self {
        let program = place.path().join("sandbridge-runner");
        Self::start_by(Command::new(program), place, url, person, name, options)
    }

    /// Starts an older runner through a command.
    fn start_by(
        starter: Command,
        place: TempDir,
        url: &str,
        person: &Person,
        name: &str,
        options: &[&str],
    ) -> Self {
        Self::start_at((directory("ws"), directory("state")), starter, place, (url, name), person, options)
    }

    /// Starts an older runner whose workspace and state directory belong to this user.
    fn start_owned_by(
        user: u32,
        starter: Command,
        place: TempDir,
        url: &str,
        person: &Person,
        name: &str,
    ) -> Self {
        let places = (directory("ws"), directory("state"));
        for place in [&places.0, &places.1] {
            std::os::unix::fs::chown(place.path(), Some(user), Some(user)).unwrap();
        }
        Self::start_at(places, starter, place, (url, name), person, &[])
    }

    fn start_at(
        (workspace, state): (TempDir, TempDir),
        mut starter: Command,
        place: TempDir,
        (url, name): (&str, &str),
        person: &Person,
        options: &[&str],
    ) -> Self {
        let token = person.add_runner(name);
        starter.args(["--server", url, "--name", name, "--token", &token]);
        starter.arg("--workspace").arg(workspace.path()).arg("--state-dir").arg(state.path()).args(options);
        let mut process = starter.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let log = Arc::<Mutex<String>>::default();
        let (stderr, written) = (process.stderr.take().unwrap(), Arc::clone(&log));
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let mut log = written.lock().unwrap();
                log.push_str(&line);
                log.push('\n');
            }
        });
        let runner = Self { name: name.to_owned(), directory: place, workspace, state, process, log };
        eventually(&format!("{name} is online"), PATIENCE, || person.is_online(name).then_some(()));
        runner
    }

    fn program(&self) -> PathBuf {
        self.directory.path().join("sandbridge-runner")
    }

    fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    fn pid(&self) -> i32 {
        self.process.id() as i32
    }

    /// Returns a command that runs `sandbridge-runner update` on this machine; the command's program is not the one to replace.
    fn update(&self) -> Command {
        let mut command = Command::new(binaries::runner());
        command.args(["update", "--state-dir"]).arg(self.state.path());
        command
    }

    /// Runs the update to its end.
    fn updated(&self) -> Output {
        run(self.update(), b"")
    }

    /// The names of the files in the program's directory.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(self.directory.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    /// The version that the server has recorded for the runner, if it is online.
    fn registered(&self, person: &Person) -> Option<String> {
        let list = person.json(&["runner", "list", "--json"]);
        let found =
            list.as_array().unwrap().iter().find(|entry| entry["name"] == self.name.as_str()).cloned()?;
        (found["online"] == true).then(|| found["version"].as_str().unwrap().to_owned())
    }

    fn wait_registered(&self, person: &Person, version: &str) {
        eventually(&format!("it is back as {version}: {}", self.log()), PATIENCE, || {
            (self.registered(person).as_deref() == Some(version)).then_some(())
        });
    }

    /// Checks that the runner has the new version in the same process, and kept the old program.
    fn assert_updated(&self, person: &Person) {
        self.wait_registered(person, NEW);
        assert_eq!(self.files(), ["sandbridge-runner", "sandbridge-runner.old"], "{}", self.log());
        assert_eq!(version_of(&self.program()), NEW);
        assert_eq!(version_of(&self.directory.path().join("sandbridge-runner.old")), OLD);
        let runs = std::fs::read_link(format!("/proc/{}/exe", self.pid())).unwrap();
        assert_eq!(runs, self.program().canonicalize().unwrap());
        assert_eq!(person.run(&["exec", "--on", &self.name, "--", "true"]).code, 0);
    }

    /// Checks that the runner is unchanged, and works.
    fn assert_unchanged(&self, person: &Person) {
        self.wait_registered(person, OLD);
        assert_eq!(self.files(), ["sandbridge-runner"], "{}", self.log());
        assert_eq!(version_of(&self.program()), OLD);
        let done = person.run(&["exec", "--on", &self.name, "--", "true"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
    }

    /// Terminates the runner; returns its exit code.
    fn stop(&mut self) -> Option<i32> {
        process::signal(self.pid(), Signal::TERM);
        eventually("the runner ends", PATIENCE, || self.process.try_wait().unwrap()).code()
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        // A parent that started the runner in a separate namespace may not pass the signal on.
        process::children(self.pid()).into_iter().for_each(|pid| process::signal(pid, Signal::TERM));
        process::terminate(&mut self.process);
    }
}

/// Reads a program's output until it contains these words; the rest is left for the caller that waits for the program's
/// end.
fn says(child: &mut Child, words: &str) {
    let mut line = Vec::new();
    let stdout = child.stdout.as_mut().unwrap();
    loop {
        let mut byte = [0];
        assert_eq!(std::io::Read::read(stdout, &mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&line));
        line.push(byte[0]);
        if line.ends_with(words.as_bytes()) {
            return;
        }
    }
}

#[test]
fn a_runner_is_replaced_where_it_runs_and_the_old_one_is_kept() {
    let server = Server::start();
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &[]);
    assert!(runner.log().contains("hands out version 0.1.0"), "{}", runner.log());
    let child = process::children(runner.pid());
    let updated = runner.updated();
    assert_eq!(updated.code, 0, "{}{}", updated.stderr, runner.log());
    assert!(updated.stdout.contains("now version 0.1.0"), "{}", updated.stdout);
    runner.assert_updated(&person);
    assert_ne!(process::children(runner.pid()), child, "another runner below the same guardian");
    // The token was given on the command line, and is only in memory, before and after the update.
    let log = runner.log();
    assert!(!log.contains("sbr_"), "{log}");
    for pid in process::children(runner.pid()).into_iter().chain([runner.pid()]) {
        for file in ["cmdline", "environ"] {
            let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
            assert!(!String::from_utf8_lossy(&content).contains("sbr_"), "{pid}: {file}");
        }
    }
    let again = runner.updated();
    assert!(again.code == 0 && again.stdout.contains("nothing newer"), "{}{}", again.stdout, again.stderr);
}

#[test]
fn a_runner_with_auto_update_updates_by_itself() {
    let server = Server::start();
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &["--auto-update"]);
    runner.assert_updated(&person);
}

#[test]
fn two_simultaneous_requests_get_one_update() {
    let server = Server::start();
    let person = server.person("alice");
    let runner = Runner::start(server.url(), &person, "laptop", &[]);
    let asking = [(); 2].map(|()| runner.update().stdout(Stdio::piped()).spawn().unwrap());
    for child in asking {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", runner.log());
        assert!(String::from_utf8_lossy(&output.stdout).contains("now version 0.1.0"));
    }
    runner.assert_updated(&person);
}

#[test]
fn runners_that_share_a_program_do_not_harm_each_other() {
    let server = Server::start();
    let person = server.person("alice");
    let first = Runner::start(server.url(), &person, "first", &[]);
    let second = Runner::start_by(
        Command::new(first.program()),
        directory("none"),
        server.url(),
        &person,
        "second",
        &[],
    );
    let asking = [&first, &second].map(|runner| runner.update().stdout(Stdio::null()).spawn().unwrap());
    for mut child in asking {
        assert!(child.wait().unwrap().success(), "{}{}", first.log(), second.log());
    }
    first.assert_updated(&person);
    second.wait_registered(&person, NEW);
    assert_eq!(person.run(&["exec", "--on", "second", "--", "true"]).code, 0);
    let runs = std::fs::read_link(format!("/proc/{}/exe", second.pid())).unwrap();
    assert_eq!(runs, first.program().canonicalize().unwrap());
}

#[test]
fn no_older_version_is_installed_and_an_update_needs_a_running_runner() {
    let server = Server::start();
    let person = server.person("alice");
    let place = directory("program");
    put_program(place.path(), "9.9.9");
    let mut runner = Runner::start_in(place, server.url(), &person, "laptop", &["--auto-update"]);
    let asked = runner.updated();
    assert!(
        asked.code == 0 && asked.stdout.contains("there is nothing newer"),
        "{}{}",
        asked.stdout,
        asked.stderr
    );
    assert_eq!(runner.registered(&person).as_deref(), Some("9.9.9"));
    assert_eq!((runner.files().len(), runner.stop()), (1, Some(0)));
    let none = runner.updated();
    assert!(
        none.code == 1 && none.stderr.contains("paste the install line again"),
        "{}{}",
        none.code,
        none.stderr
    );
    assert_eq!(std::fs::read_dir(runner.state.path().join("control")).unwrap().count(), 0);
}

#[test]
fn a_runner_whose_update_waits_for_commands_still_stops_cleanly() {
    let server = Server::start();
    let person = server.person("alice");
    let mut runner = Runner::start(server.url(), &person, "laptop", &[]);
    let mut long = person.command(&["exec", "--", "sh", "-c", "echo up; sleep 100"]);
    let mut long = long.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    says(&mut long, "up\n");
    let mut asking = runner.update().stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    says(&mut asking, "waits for running commands to end (1)");
    assert_eq!(runner.files().len(), 2);
    assert_eq!(person.run(&["exec", "--", "true"]).code, 0, "the runner still serves commands");
    assert_eq!(runner.stop(), Some(0), "{}", runner.log());
    assert_eq!(runner.files(), ["sandbridge-runner"]);
    assert_eq!(long.wait().unwrap().code(), Some(130));
    process::terminate(&mut asking);
}
