//! Runs the whole corpus at once, through a runner with some layers left out, or without any runner.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::process::Child;
use std::time::{Duration, Instant};

use tests::{Output, eventually, process};

use super::corpus::layer::{ALWAYS, LANDLOCK, MOUNTS, SOCKET_FILES};
use super::corpus::{ATTACKS, Attack, SURVIVORS, Ways};
use super::world::{Site, World};

/// The exit code of a script whose target does not exist on this machine.
pub(super) const NOTHING_HERE: i32 = 77;

/// The first version of Landlock that restricts sockets that are files.
const FIRST_WITH_SOCKET_FILES: u32 = 9;

const ONLINE_WITHIN: Duration = Duration::from_secs(60);

/// How long it may take to notice a survivor, and how long to wait before concluding that there is none; survivors write every 20 ms.
const SEEN_WITHIN: Duration = Duration::from_secs(60);
const SILENT_FOR: Duration = Duration::from_millis(200);

/// The protection under which the attacks run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Guard {
    /// A runner with these layers left out.
    Without(BTreeSet<&'static str>),
    /// A runner that confines nothing.
    FullControl,
    /// A shell started without any protection.
    Nothing,
}

/// The result of one run.
pub(super) struct Outcome {
    pub(super) guard: Guard,
    /// The layers that were not in force, according to the runner.
    pub(super) gone: BTreeSet<String>,
    /// Each attack's exit code.
    pub(super) codes: Vec<i32>,
}

impl Outcome {
    /// Returns true if an attack with these ways should have got through.
    pub(super) fn is_open(&self, ways: Ways) -> bool {
        is_open(&self.gone, ways)
    }

    /// The attacks whose results differ from what the layers predict, one line each.
    pub(super) fn surprises(&self, is_root: bool) -> Vec<String> {
        let each = ATTACKS.iter().zip(&self.codes);
        let wrong = each.filter(|(attack, code)| {
            let expected = self.is_open(attack.ways(is_root));
            let nothing_here = expected && **code == NOTHING_HERE;
            expected != (**code == 0) && !nothing_here
        });
        let line = |(attack, code): (&Attack, &i32)| {
            let what = if *code == 0 { "got through" } else { "was stopped" };
            format!("{:?}: \"{}\" {what} ({code}); gone: {:?}", self.guard, attack.name, self.gone)
        };
        wrong.map(line).collect()
    }
}

pub(super) fn is_open(gone: &BTreeSet<String>, ways: Ways) -> bool {
    ways.iter().any(|way| way.iter().all(|layer| gone.contains(*layer)))
}

/// A runner that is online, started for one guard only.
pub(super) struct Runner<'a> {
    pub(super) site: Site<'a>,
    guardian: Child,
    name: String,
    gone: BTreeSet<String>,
}

impl<'a> Runner<'a> {
    pub(super) fn start(world: &'a World, name: &str, guard: &Guard) -> Self {
        let site = Site::new(world, name);
        let (token, person) = (site.path("token"), &world.person);
        fs::write(&token, person.add_runner(name)).unwrap();
        let path = |place: &str| site.path(place).display().to_string();
        let (program, token) = (path("bin/sandbridge-runner"), path("token"));
        let (workspace, state) = (path("work"), path("state"));
        let mut words = vec![program.as_str(), "--server", world.server.url(), "--token-file", &token];
        words.extend(["--workspace", &workspace, "--state-dir", &state]);
        let list = match guard {
            Guard::Without(layers) => layers.iter().copied().collect::<Vec<_>>().join(","),
            Guard::FullControl | Guard::Nothing => String::new(),
        };
        match guard {
            Guard::FullControl => words.extend(["--profile", "full-control"]),
            Guard::Without(_) | Guard::Nothing => {}
        }
        if !list.is_empty() {
            words.extend(["--without", &list]);
        }
        let (guardian, mut output) = site.start(&words);
        std::thread::spawn(move || std::io::copy(&mut output, &mut std::io::sink()));
        let mut runner = Self { site, guardian, name: name.to_owned(), gone: BTreeSet::new() };
        runner.gone = eventually("the runner is online", ONLINE_WITHIN, || runner.layers_gone());
        runner
    }

    /// Returns the layers that the runner reports as not in force; `None` while the runner is not online.
    fn layers_gone(&self) -> Option<BTreeSet<String>> {
        let list = self.site.world.person.json(&["runner", "list", "--json"]);
        let entry = list.as_array().unwrap().iter().find(|entry| entry["name"] == *self.name)?;
        entry["online"].as_bool().filter(|online| *online)?;
        let layers = entry["layers"].as_array()?;
        let name = |layer: &serde_json::Value| layer["name"].as_str().unwrap().to_owned();
        let mut gone: BTreeSet<_> = layers.iter().filter(|layer| layer["holds"] == false).map(name).collect();
        let landlock = layers.iter().find(|layer| layer["name"] == LANDLOCK)?;
        let version = landlock["detail"].as_str()?.trim_start_matches("ABI ").parse().unwrap_or(0);
        if version < FIRST_WITH_SOCKET_FILES {
            gone.insert(SOCKET_FILES.to_owned());
        }
        Some(gone)
    }

    pub(super) fn exec(&self, options: &[&str], script: &str) -> Output {
        fs::write(self.site.path("work/script"), script).unwrap();
        let words = [&["exec", "--on", &self.name], options, &["--", "sh", "./script"]].concat();
        self.site.world.person.run(&words)
    }

    /// Runs the whole corpus in two commands: the second finds what the first left behind.
    pub(super) fn attack(&mut self, guard: &Guard) -> Outcome {
        let variables = self.site.variables(self.guardian.id(), "");
        let before = self.exec(&[], &batch(&variables, |attack| attack.before.to_owned()));
        assert_eq!(before.code, 0, "{guard:?}: {}", before.stderr);
        let variables = self.site.variables(self.guardian.id(), &threads(self.guardian.id() as i32));
        let (outside, mounts_hold) = (self.site.outside(), !self.gone.contains(MOUNTS));
        let played = self.exec(&["--timeout", "60"], &batch(&variables, |attack| attack.script.to_owned()));
        let codes = codes(&played.stdout, &played.stderr);
        assert!(!played.stdout.contains("treasure"), "{guard:?}");
        if mounts_hold {
            assert_eq!(self.site.outside(), outside, "{guard:?} changed files outside");
        }
        self.check_who_lives(&codes);
        Outcome { guard: guard.clone(), gone: self.gone.clone(), codes }
    }

    /// Checks that the runner, its guardian and the neighbours are alive, except for the one that an attack may kill; and
    /// that commands still work.
    fn check_who_lives(&mut self, codes: &[i32]) {
        assert_eq!(self.exec(&[], "echo alive").stdout, "alive\n");
        assert!(self.guardian.try_wait().unwrap().is_none() && self.site.is_victim_alive());
        let killed = ATTACKS.iter().position(|attack| attack.name == "process killed").unwrap();
        let is_dead = self.site.doomed.try_wait().unwrap().is_some();
        assert_eq!(is_dead, codes[killed] == 0, "the attack's report differs from its effect");
    }

    /// The kinds of processes that still run after their command was stopped.
    pub(super) fn survivors(&self) -> BTreeSet<String> {
        let stopped = self.exec(&["--timeout", "0.5"], &survivors_script(self.site.world.is_root));
        assert_eq!(stopped.code, 124, "{}", stopped.stderr);
        seen(&self.site, |kind| is_open(&self.gone, kind))
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        process::terminate(&mut self.guardian);
    }
}

/// The threads of a guardian's runner, by their numbers as the runner's commands see them.
pub(super) fn threads(guardian: i32) -> String {
    let runner = process::children(guardian)[0];
    let threads = fs::read_dir(format!("/proc/{runner}/task")).unwrap().flatten();
    let status = threads.filter_map(|thread| fs::read_to_string(thread.path().join("status")).ok());
    let numbers = status.filter_map(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?.to_owned();
        line.split_whitespace().last().map(str::to_owned)
    });
    numbers.collect::<Vec<_>>().join(" ")
}

/// Runs the whole corpus in an unguarded shell, a child of a shell that has secrets.
pub(super) fn attack_unguarded(world: &World) -> (Outcome, BTreeSet<String>) {
    let site = Site::new(world, "unguarded");
    let scripts = |attack: &Attack| format!("{}\n{}", attack.before, attack.script);
    // A stand-in for the guardian; without a runner, a guardian would be a process like any other.
    let guardian = site.variables(0, "").lines().find_map(|line| line.strip_prefix("V=")?.parse().ok());
    let variables = site.variables(guardian.unwrap(), "$PPID");
    fs::write(site.path("work/script"), batch(&variables, scripts)).unwrap();
    fs::write(site.path("work/naive"), "sh ./script; exit 0").unwrap();
    let (mut naive, mut output) = site.start(&["setsid", "--ctty", "--wait", "sh", "./naive"]);
    let mut text = String::new();
    output.read_to_string(&mut text).unwrap();
    naive.wait().unwrap();
    let codes = codes(&text, "");
    let all = super::LAYERS.iter().copied().chain([SOCKET_FILES, ALWAYS]).map(str::to_owned);
    let gone = all.collect();
    fs::write(site.path("work/script"), survivors_script(world.is_root)).unwrap();
    let words = ["timeout", "--signal", "KILL", "0.5", "sh", "./script"];
    site.start(&words).0.wait().unwrap();
    let survivors = seen(&site, |_| true);
    (Outcome { guard: Guard::Nothing, gone, codes }, survivors)
}

/// Combines many attacks into one script, in which each attack runs in a separate directory and shell, and prints its number and exit code.
pub(super) fn batch(variables: &str, script: impl Fn(&Attack) -> String) -> String {
    let mut batch =
        format!("{variables}RP=${{RP:-$PPID}}\nmkdir -p at; cd at; mkdir -p $(seq 0 {})\n", ATTACKS.len());
    for (index, attack) in ATTACKS.iter().enumerate() {
        let script = script(attack);
        // A script that is a single program replaces the shell, which halves the number of processes.
        let is_program = script.starts_with("$P ") || script.starts_with("grep ");
        let exec = if is_program && !script.contains(['&', ';', '|']) { "exec " } else { "" };
        if !script.is_empty() {
            batch +=
                &format!("( cd {index}\n{exec}{script}\n) >/dev/null 2>&1 </dev/null; echo \"{index} $?\"\n");
        }
    }
    batch
}

/// The exit code of each attack, by its number.
pub(super) fn read_codes(stdout: &str) -> BTreeMap<usize, i32> {
    let read = |line: &str| {
        let (index, code) = line.split_once(' ')?;
        Some((index.parse().ok()?, code.parse().ok()?))
    };
    stdout.lines().filter_map(read).collect()
}

fn codes(stdout: &str, stderr: &str) -> Vec<i32> {
    let codes = read_codes(stdout);
    assert!(codes.keys().copied().eq(0..ATTACKS.len()), "{codes:?} {stderr}");
    codes.into_values().collect()
}

fn kinds(is_root: bool) -> impl Iterator<Item = (&'static str, Ways)> {
    // Only root can switch to another user.
    SURVIVORS.iter().copied().filter(move |(kind, _)| is_root || *kind != "other")
}

fn survivors_script(is_root: bool) -> String {
    let start: String =
        kinds(is_root).map(|(kind, _)| format!("./probe outlive {kind} beats/{kind}\n")).collect();
    format!("umask 0; mkdir -p beats\n{start}exec sleep 30")
}

/// Returns the kinds of processes that still write after their command has ended; waits for those that may survive.
fn seen(site: &Site<'_>, may: impl Fn(Ways) -> bool) -> BTreeSet<String> {
    let beats = site.path("work/beats");
    let look = || -> BTreeSet<String> {
        let entries = fs::read_dir(&beats).unwrap().flatten();
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    let all: BTreeSet<String> = kinds(site.world.is_root).map(|(kind, _)| kind.to_owned()).collect();
    assert_eq!(look(), all, "not all of the processes were running at first");
    for kind in &all {
        fs::remove_file(beats.join(kind)).unwrap();
    }
    let allowed: BTreeSet<String> =
        kinds(site.world.is_root).filter(|(_, ways)| may(ways)).map(|(kind, _)| kind.to_owned()).collect();
    let start = Instant::now();
    let seen = eventually("survivors are noticed", SEEN_WITHIN, || {
        let seen = look();
        (start.elapsed() >= SILENT_FOR && (seen.is_superset(&allowed))).then_some(seen)
    });
    fs::write(site.path("work/stop"), "").unwrap();
    seen
}
