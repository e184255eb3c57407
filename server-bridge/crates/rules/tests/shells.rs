//! Random lines, run by real shells: only the commands that the verdict knew may run.
//!
//! The only programs that a line can find are scripts that write their name to a log.

#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rules::{Call, Document, Effect, Layer, Origin, Place, RuleSet, Subject};

const RULES: &str = r#"{"deny": ["Bash(rm *)"], "allow": ["Bash(git *)", "Bash(npm run *)", "Bash(echo *)", "Bash(cat *)",
    "Bash(: *)", "Bash(true *)", "Bash([ *)", "Bash(printf *)"]}"#;

/// The number of lines of a run, unless `SANDBRIDGE_SHELL_LINES` is set. Most are denied or asked about, and are not
/// run.
const LINES: usize = 1_000;

/// The pieces that lines are made of.
const PIECES: &[&str] = &[
    "git status",
    "npm run x",
    "echo",
    "echo a",
    "cat",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    ";",
    ";",
    " && ",
    " || ",
    " | ",
    "|&",
    " & ",
    "(",
    ")",
    "{ ",
    "; }",
    "}",
    "$(",
    "$(",
    "`",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    "$'",
    "$'\\'",
    "${x:-",
    "${x:=",
    "${x",
    "}",
    "<<EOF",
    "<<EOF\n",
    "\nEOF\n",
    "\nEOF\n",
    "<<'E'\n",
    "\nE\n",
    "<<-E\n",
    "\tE\n",
    "<",
    ">",
    ">out ",
    " 2>&1",
    "<(",
    ">(",
    "$((",
    "))",
    "((",
    "if ",
    "then ",
    "fi",
    "\nfi\n",
    "else ",
    "for x in a; do ",
    "for x in ",
    "do ",
    "done",
    "while ",
    "case x in ",
    "case x in a) ",
    "case x in x) ",
    "x) ",
    ";; ",
    " esac",
    "f() ",
    "f",
    "function f ",
    "sh -c ",
    "bash -c ",
    "eval ",
    "X=1 ",
    "x=a",
    "#",
    " #",
    "{a,b}",
    "{rm,x}",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    " -a ",
    "time ",
    "! ",
    "=",
    "~",
    "*",
    "r",
    "m",
    "$x",
    "$@",
    "\"$x\"",
    "nohup ",
    "env ",
    "nice ",
    "timeout 5 ",
    "xargs ",
    "command ",
    "exec ",
    "trap 'rm z' EXIT",
    "coproc ",
    "in ",
    "-c ",
    "--",
    "&>o ",
    ">&o ",
    "<<<",
    "<<<a",
    "$\"",
    "\\$",
    "\\`",
    "\\\"",
    "a=(",
    "echo $(( ",
    "1 ",
    "<<",
    "until ",
    "elif ",
    "{",
    "[",
    "]",
    "alias git=rm\n",
    "printf ",
    "-v a ",
    "$[",
    "unset ",
    ". ",
    "source ",
    "&>>o",
    "|",
    "<>o ",
    "{x}>o ",
    "3>o ",
    "true",
    "true;",
];

/// A sequence of pseudorandom numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % end
    }

    fn line(&mut self) -> String {
        let count = self.below(12) + 1;
        let at = self.below(count);
        let pieces = (0..count).map(|number| match number == at {
            true => ["rm x", "make y"][self.below(2)],
            false => PIECES[self.below(PIECES.len())],
        });
        pieces.collect()
    }
}

/// A folder in which lines run, and one with the programs that they can find.
struct World {
    folder: PathBuf,
}

impl World {
    fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("rules-shells-{}", std::process::id()));
        let programs = folder.join("programs");
        std::fs::create_dir_all(&programs).unwrap();
        let script = |name: &str, text: &str| {
            let path = programs.join(name);
            std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        for name in ["git", "npm", "cat", "rm", "make"] {
            script(name, &format!("echo {name} >> \"$LOG\""));
        }
        for name in ["nohup", "env", "nice"] {
            script(name, "exec \"$@\"");
        }
        script("timeout", "shift; exec \"$@\"");
        script("xargs", "exec \"$@\" argument");
        for shell in ["sh", "bash"] {
            std::os::unix::fs::symlink(Path::new("/bin").join(shell), programs.join(shell)).unwrap();
        }
        Self { folder }
    }

    /// The programs that a line ran, and true if it created a file.
    fn run(&self, shell: &str, line: &str, number: usize) -> (Vec<String>, bool) {
        let (home, log) =
            (self.folder.join(format!("home-{number}")), self.folder.join(format!("log-{number}")));
        std::fs::create_dir(&home).unwrap();
        std::fs::write(&log, "").unwrap();
        let mut command = Command::new("/usr/bin/timeout");
        command.args(["-k", "0.1", "1", shell, "-c", line]).current_dir(&home).env_clear();
        command.env("PATH", self.folder.join("programs")).env("LOG", &log).env("HOME", &home);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().unwrap();
        let ran = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
        let has_files = std::fs::read_dir(&home).unwrap().next().is_some();
        std::fs::remove_dir_all(&home).unwrap();
        (ran, has_files)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

#[test]
fn shells_run_nothing_that_the_verdict_did_not_see() {
    let rules = Document::parse(RULES, Origin::User, &[]).unwrap().rules;
    let set = RuleSet::new([Layer { origin: Origin::User, rules }]);
    let place = Place { cwd: "/work", root: Some("/work"), home: Some("/home/ann") };
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x2545_F491_4F6C_DD1D);
    let (world, mut numbers, mut wrong) = (World::new(), Numbers(seed), Vec::new());
    let lines = std::env::var("SANDBRIDGE_SHELL_LINES").map_or(LINES, |lines| lines.parse().unwrap());
    for number in 0..lines {
        let line = numbers.line();
        let subjects = [Subject::Shell { line: &line }];
        let verdict = set.decide(&Call { tool: "Shell", subjects: &subjects, place }).verdict;
        if matches!(verdict, Some(Effect::Deny | Effect::Ask)) {
            continue;
        }
        for (shell, number) in [("/bin/sh", number * 2), ("/bin/bash", number * 2 + 1)] {
            let (ran, has_files) = world.run(shell, &line, number);
            let is_allowed = verdict == Some(Effect::Allow);
            let runs_denied = ran.iter().any(|name| name == "rm");
            let runs_more = ran.iter().any(|name| !["git", "npm", "cat"].contains(&name.as_str()));
            if runs_denied || (is_allowed && (runs_more || has_files)) {
                wrong.push(format!("{shell} {verdict:?} {line:?} ran {ran:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
