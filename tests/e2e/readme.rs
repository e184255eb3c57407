//! README's first screens: every command in their `sh` blocks is typed into a real terminal exactly as written, including comments.
//!
//! The first screens end where the comparison with other tools begins: up to there a new reader types along. The machines in
//! the blocks are users, directories and terminals of this test, on a separate network, so that `127.0.0.1:8080` is free;
//! `dist/` is a separate directory too. `scripts/build` builds with Cargo's dev profile, set by its documented variable.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tests::server::PASSWORD;
use tests::tmux::Tmux;
use tests::{binaries, eventually, process};

/// The heading after the first screens.
const NEXT_HEADING: &str = "\n## How it compares";
/// The timeout for every step.
const PATIENCE: Duration = Duration::from_secs(60);
/// The timeout for a command that builds, which may wait for other builds in the same directory.
const BUILT_WITHIN: Duration = Duration::from_secs(600);
/// The interval of checks of a screen.
const LOOKS_EVERY: Duration = Duration::from_millis(50);
/// The size of the terminals: wide enough for the line to paste not to wrap.
const TERMINAL: (u16, u16) = (260, 50);
/// The id of the laptop's user and group, which are ordinary ones.
const DEV: u32 = 4711;
/// The address of README's server.
const URL: &str = "http://127.0.0.1:8080";

/// A function that runs a command in the terminal, given the line to type.
type Run = fn(&mut World, &Shell, &str);

/// The functions that run the commands, by a command's beginning; longer beginnings come first.
const KNOWN: [(&str, Run); 17] = [
    ("scripts/demo", demo),
    ("scripts/build", build),
    ("export PATH=", succeeds),
    ("cd ", succeeds),
    ("sandbridge here --web", here_in_the_browser),
    ("sandbridge here", here),
    ("sandbridge user add", user_add),
    ("sandbridge serve", serve),
    ("sandbridge login", login),
    ("sandbridge runner add", runner_add),
    ("(command -v curl >/dev/null && exec curl -fsSL URL/install; wget -qO- URL/install) |", paste),
    ("sandbridge use", succeeds),
    ("sandbridge exec", exec),
    ("sandbridge cp", copy),
    ("sandbridge chat '", chat_once),
    ("sandbridge chat", chat),
    ("curl -fsSL URL/install | sh -s -- --uninstall", uninstall),
];

/// The command of a machine that has only the runner.
const DOCTOR: (&str, Run) = ("sandbridge-runner doctor", doctor);

#[test]
fn every_command_of_the_first_screens_runs_as_written() {
    let text = first_screens();
    let mut world = World::new();
    let mut place = String::new();
    let mut ran = BTreeSet::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            assert!(line == "```sh" || is_code && line == "```", "a block that is not sh: {line}");
            is_code = !is_code;
            "here".clone_into(&mut place);
        } else if !is_code {
            prose_names_only_what_runs(line);
        } else if let Some(name) = line.strip_prefix("# ") {
            name.clone_into(&mut place);
        } else if !line.is_empty() {
            let (beginning, run) = known(line).unwrap_or_else(|| panic!("this test cannot run: {line}"));
            ran.insert(beginning);
            let shell = world.shell(&place);
            run(&mut world, &shell, line);
            world.shells.insert(place.clone(), shell);
        }
    }
    let all: BTreeSet<&str> = KNOWN.iter().chain([&DOCTOR]).map(|(beginning, _)| *beginning).collect();
    assert_eq!(ran, all, "this test knows commands that README no longer has");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn first_screens() -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    readme.split_once(NEXT_HEADING).expect("README has the heading after the first screens").0.to_owned()
}

fn known(line: &str) -> Option<(&'static str, Run)> {
    KNOWN.iter().chain([&DOCTOR]).find(|(beginning, _)| line.starts_with(beginning)).copied()
}

/// Checks that a command mentioned between the blocks is also in one of the blocks.
fn prose_names_only_what_runs(line: &str) {
    for code in line.split('`').skip(1).step_by(2) {
        let is_command = ["sandbridge", "scripts/", "curl "].iter().any(|program| code.starts_with(program));
        assert!(!is_command || known(code).is_some(), "{code} is in no block of the first screens");
    }
}

/// A terminal with a shell that shows the last exit code in its prompt.
struct Shell(Tmux);

impl Shell {
    /// Types a line and presses Enter, on a screen that is empty except for the prompt.
    fn types(&self, line: &str) {
        self.0.types("clear");
        self.0.press(&["Enter"]);
        self.0.becomes("an empty screen", |screen| screen.trim() == "[0]$");
        self.0.types(line);
        self.0.press(&["Enter"]);
    }

    fn answers(&self, question: &str, answer: &str) {
        self.0.sees(question);
        self.0.types(answer);
        self.0.press(&["Enter"]);
    }

    /// Waits until the screen meets the condition.
    ///
    /// # Panics
    /// On a timeout, with the text on the screen.
    fn waits<T>(&self, what: &str, within: Duration, mut probe: impl FnMut(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + within;
        loop {
            let screen = self.0.screen();
            if let Some(found) = probe(&screen) {
                return found;
            }
            assert!(Instant::now() < deadline, "not within {within:?}: {what}, on\n{}", screen.trim_end());
            std::thread::sleep(LOOKS_EVERY);
        }
    }

    /// Waits until the prompt is back after a typed line; returns its exit code, and the text on the screen.
    fn ends(&self) -> (i32, String) {
        self.ends_within(PATIENCE)
    }

    fn ends_within(&self, within: Duration) -> (i32, String) {
        self.waits("the command ends", within, |screen| {
            let lines: Vec<&str> = screen.lines().filter(|line| !line.trim().is_empty()).collect();
            // After an interrupt the terminal shows ^C before the prompt.
            let prompt = lines.last()?.trim_end().strip_suffix("]$")?.rsplit_once('[')?.1;
            let code = prompt.parse().ok().filter(|_| lines.len() > 1)?;
            Some((code, screen.to_owned()))
        })
    }

    /// Runs a line that must succeed; returns the text on the screen.
    fn runs(&self, line: &str) -> String {
        self.runs_within(line, PATIENCE)
    }

    fn runs_within(&self, line: &str, within: Duration) -> String {
        self.types(line);
        let (code, screen) = self.ends_within(within);
        assert_eq!(code, 0, "{screen}");
        screen
    }

    fn comes_to(&self, text: &str, within: Duration) -> String {
        self.waits(text, within, |screen| screen.contains(text).then(|| screen.to_owned()))
    }

    fn interrupts(&self) {
        self.0.press(&["C-c"]);
        let (code, screen) = self.ends();
        assert_eq!(code, 130, "{screen}");
    }

    /// Runs README's first `!command` in a full-screen chat, and leaves it.
    fn chats(&self, runner: &str) {
        self.comes_to(&format!("● {runner} online"), PATIENCE);
        self.0.types("!git status");
        self.0.press(&["Enter"]);
        self.0.sees("No commits yet");
        self.0.leaves_chat();
        let (code, screen) = self.ends();
        assert_eq!(code, 0, "{screen}");
    }
}

/// The machines, which have a separate network, mounts and processes, and end when this is dropped.
struct World {
    unshare: Child,
    init: i32,
    folder: TempDir,
    shells: BTreeMap<String, Shell>,
    /// The line that `runner add` printed.
    line: String,
}

impl World {
    fn new() -> Self {
        let folder = TempDir::with_prefix("sandbridge-readme-").unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::create_dir_all(root().join("dist")).unwrap();
        for name in ["dist", "here/project", "server", "desk", "laptop/project"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        let set_up =
            "busybox ip link set lo up && mount --bind \"$1\" \"$2\" && echo ready && exec sleep 3600";
        let mut unshare = Command::new("unshare")
            .args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"])
            .args(["sh", "-c", set_up, "sh"])
            .args([folder.path().join("dist"), root().join("dist")])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut ready = String::new();
        BufReader::new(unshare.stdout.take().unwrap()).read_line(&mut ready).unwrap();
        assert_eq!(ready, "ready\n", "the machines could not be set up");
        let init = process::children(unshare.id() as i32)[0];
        let world = Self { unshare, init, folder, shells: BTreeMap::new(), line: String::new() };
        for (name, user) in [("here", 0), ("laptop", DEV)] {
            let (home, project) = (world.path(name), world.path(name).join("project"));
            for directory in [&home, &project] {
                chown(directory, Some(user), Some(user)).unwrap();
            }
            let mut git = Command::new("git");
            git.args(["init", "--quiet", "."]).current_dir(&project).env("HOME", &home);
            assert!(git.uid(user).gid(user).status().unwrap().success());
        }
        let makefile = "test:\n\tmkdir -p build\n\techo '<p>passed</p>' > build/report.html\n";
        std::fs::write(world.path("laptop/project/Makefile"), makefile).unwrap();
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the terminal at a place that README names; opens it if it does not exist yet.
    fn shell(&mut self, place: &str) -> Shell {
        if let Some(shell) = self.shells.remove(place) {
            return shell;
        }
        // Cargo's environment variables, except for those about this test: a build script that sees changed ones would
        // run again.
        let is_of_this_test = |name: &str| {
            ["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_"]
                .iter()
                .any(|of| name.starts_with(of))
        };
        let environment = std::env::vars()
            .filter(|(name, _)| name == "PATH" || name.starts_with("CARGO_") && !is_of_this_test(name));
        let mut environment: BTreeMap<String, String> = environment.collect();
        let with_dist = format!("{}:{}", root().join("dist").display(), environment["PATH"]);
        let (user, home, directory) = match place {
            // Rust is installed where the tests use it.
            "here" => {
                let own = PathBuf::from(std::env::var("HOME").unwrap());
                for (variable, folder) in [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")] {
                    let there = std::env::var(variable).unwrap_or(own.join(folder).display().to_string());
                    environment.insert(variable.to_owned(), there);
                }
                environment.insert("SANDBRIDGE_CARGO_PROFILE".to_owned(), "dev".to_owned());
                // The settings with which the programs of this run were built: with other settings, Cargo would build all
                // of them again.
                let built_with = std::env::var("SANDBRIDGE_BUILT_WITH").unwrap_or_default();
                let settings = built_with.lines().filter_map(|setting| setting.split_once('='));
                environment.extend(settings.map(|(name, value)| (name.to_owned(), value.to_owned())));
                (0, self.path("here"), root())
            }
            "on the server" => (0, self.path("server"), self.path("server")),
            "at your desk" => (0, self.path("desk"), self.path("desk")),
            "on the laptop" | "on the laptop, in another terminal" => {
                (DEV, self.path("laptop"), self.path("laptop/project"))
            }
            other => panic!("no machine of this test is {other:?}"),
        };
        if user == DEV {
            let path = format!("{}/.local/bin:/usr/local/bin:/usr/bin:/bin", home.display());
            environment.insert("PATH".to_owned(), path);
        } else if place != "here" {
            environment.insert("PATH".to_owned(), with_dist);
        }
        let variables: Vec<String> =
            environment.iter().map(|(name, value)| format!("{name}='{value}'")).collect();
        let tmux = Tmux::start(TERMINAL.0, TERMINAL.1);
        tmux.types(&format!(
            "clear; exec nsenter --target {} --net --mount --pid --setuid {user} --setgid {user} --wdns='{}' \
             env -i HOME='{}' TERM=xterm-256color LC_ALL=C.UTF-8 PS1='[$?]$ ' {} bash --norc --noprofile",
            self.init,
            directory.display(),
            home.display(),
            variables.join(" "),
        ));
        tmux.press(&["Enter"]);
        tmux.becomes("a shell's prompt", |screen| screen.trim_end().ends_with("[0]$"));
        Shell(tmux)
    }

    /// A line of README with the address and the token filled in for its placeholders.
    fn filled_in(&self, line: &str) -> String {
        let token = self.line.split("SANDBRIDGE_TOKEN=").nth(1).and_then(|rest| rest.split(' ').next());
        line.replace("URL", URL).replace("sbe_…", token.expect("a runner was added"))
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.shells.clear();
        // The end of the first process ends every process in its namespace.
        process::signal(self.init, rustix::process::Signal::KILL);
        let _ = self.unshare.wait();
    }
}

fn succeeds(_: &mut World, shell: &Shell, line: &str) {
    shell.runs(line);
}

fn demo(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    let screen = shell.comes_to("Ctrl-C stops everything", BUILT_WITHIN);
    for words in ["Linux", "name      admin", "password  ", URL] {
        assert!(screen.contains(words), "no {words:?} in\n{screen}");
    }
    let workspace =
        screen.lines().find(|line| line.ends_with("/workspace")).expect("pwd's output").to_owned();
    assert!(Path::new(&workspace).is_dir());
    shell.interrupts();
    let directory = workspace.trim_end_matches("/workspace");
    let left = || Path::new(directory).exists() || !process::with_marker(directory).is_empty();
    eventually("nothing of the demo is left", PATIENCE, || (!left()).then_some(()));
}

fn build(world: &mut World, shell: &Shell, line: &str) {
    shell.runs_within(line, BUILT_WITHIN);
    let named = line.split_whitespace().filter_map(|word| word.trim_end_matches(',').strip_prefix("dist/"));
    for name in named {
        assert!(world.path("dist").join(name).is_file(), "{name}");
    }
}

fn here(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    shell.answers("Key for a model", "");
    shell.chats("project");
}

fn here_in_the_browser(world: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    let screen = shell.comes_to("open http", PATIENCE);
    let address = screen.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let page = Command::new("nsenter")
        .args(["--target", &world.init.to_string(), "--net"])
        .args(["node", "node_modules/@playwright/test/cli.js", "test", "--config", "readme.config.ts"])
        .current_dir(root().join("tests/browser"))
        .env("README_PAGE", address)
        .env("BROWSER_RESULTS", binaries::directory().join("../browser/readme"))
        .output()
        .unwrap();
    assert!(page.status.success(), "{}", String::from_utf8_lossy(&page.stdout));
    shell.interrupts();
}

fn user_add(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    shell.answers("New password:", PASSWORD);
    shell.answers("Password again:", PASSWORD);
    assert_eq!(shell.ends().0, 0, "{}", shell.0.screen());
}

/// The server continues to run.
fn serve(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    shell.comes_to(URL, PATIENCE);
}

fn login(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    shell.answers("Password:", PASSWORD);
    assert_eq!(shell.ends().0, 0, "{}", shell.0.screen());
}

fn runner_add(world: &mut World, shell: &Shell, line: &str) {
    let screen = shell.runs(line);
    let printed = screen.lines().find(|line| line.contains("SANDBRIDGE_TOKEN=")).expect("a line to paste");
    world.line = printed.trim().to_owned();
}

/// README shows the line that `runner add` prints; the test types the printed one.
fn paste(world: &mut World, shell: &Shell, line: &str) {
    assert_eq!(world.filled_in(line), world.line);
    shell.types(&world.line);
    shell.comes_to("it runs until Ctrl-C", PATIENCE);
    let desk = world.shell("at your desk");
    eventually("the laptop is online", PATIENCE, || {
        desk.runs("sandbridge runner list").contains("online").then_some(())
    });
    world.shells.insert("at your desk".to_owned(), desk);
}

fn exec(world: &mut World, shell: &Shell, line: &str) {
    shell.runs(line);
    assert!(world.path("laptop/project/build/report.html").is_file());
}

fn copy(world: &mut World, shell: &Shell, line: &str) {
    shell.runs(line);
    assert_eq!(std::fs::read_to_string(world.path("desk/report.html")).unwrap(), "<p>passed</p>\n");
}

fn chat(_: &mut World, shell: &Shell, line: &str) {
    shell.types(line);
    shell.chats("laptop");
}

fn chat_once(_: &mut World, shell: &Shell, line: &str) {
    let screen = shell.runs(line);
    assert!(screen.contains("No commits yet"), "{screen}");
}

fn doctor(_: &mut World, shell: &Shell, line: &str) {
    let screen = shell.runs(line);
    assert!(screen.contains("ok       mount") || screen.contains("ok       landlock"), "{screen}");
}

fn uninstall(world: &mut World, shell: &Shell, line: &str) {
    let program = world.path("laptop/.local/bin/sandbridge-runner");
    assert!(program.is_file() && !process::with_marker(program.to_str().unwrap()).is_empty());
    shell.runs(&world.filled_in(line));
    assert!(!program.exists());
    let is_over = || process::with_marker(program.to_str().unwrap()).is_empty().then_some(());
    eventually("the runner has ended", PATIENCE, is_over);
}
