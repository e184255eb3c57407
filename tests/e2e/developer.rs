//! A developer's ordinary work with the profile `workspace`: tools work unchanged, and files outside cannot be reached.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tests::terminal::Terminal;
use tests::{Machine, Output, Person, Server, binaries};

fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    (server, person, machine)
}

fn shell(person: &Person, script: &str) -> Output {
    person.run(&["exec", "--", "sh", "-ec", script])
}

/// Runs a script that must succeed, and returns its output.
fn succeeds(person: &Person, script: &str) -> String {
    let output = shell(person, script);
    assert_eq!(output.code, 0, "{script}\n{}\n{}", output.stdout, output.stderr);
    output.stdout
}

/// True if a tool is installed here; prints a message if it is not.
fn has(tool: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {tool}")]).stdout(Stdio::null()).status();
    let found = found.unwrap().success();
    if !found {
        eprintln!("skipped: {tool} is not installed here");
    }
    found
}

/// Runs git outside of any sandbox, as the user does.
fn git(directory: &Path, words: &[&str]) {
    let identity = ["-c", "user.name=n", "-c", "user.email=e@example.com"];
    let status = Command::new("git").args(identity).args(words).current_dir(directory).status().unwrap();
    assert!(status.success(), "git {words:?}");
}

/// A machine whose workspace contained a repository when its runner started.
fn with_repository(options: &[&str]) -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let token = person.add_runner("laptop");
    let mut machine = Machine::start_with_token(&server, "laptop", &token, &[]);
    machine.wait_online(&person, "laptop");
    git(machine.workspace(), &["init", "-q", "-b", "main"]);
    fs::write(machine.workspace().join("file"), "text\n").unwrap();
    git(machine.workspace(), &["add", "file"]);
    git(machine.workspace(), &["commit", "-qm", "first"]);
    machine.restart(&server, "laptop", &token, options);
    let is_back = || shell(&person, "test -f .git/HEAD").code == 0;
    tests::eventually("the runner is back", std::time::Duration::from_secs(60), || is_back().then_some(()));
    (server, person, machine)
}

#[test]
fn a_crate_builds_and_tests() {
    let (_server, alice, _machine) = setup();
    if !has("cargo") {
        return;
    }
    let script = "cargo init -q --vcs none --name demo app && cargo init -q --lib --vcs none --name helper helper && \
        echo 'helper = { path = \"../helper\" }' >> app/Cargo.toml && cd app && \
        echo 'fn main() { println!(\"{}\", helper::add(40, 2)) }' > src/main.rs && \
        cargo run -q --offline && cd ../helper && cargo test -q --offline && test -d ~/.cargo";
    assert!(succeeds(&alice, script).starts_with("42\n"));
}

#[test]
fn a_dependency_is_fetched_from_the_registry_where_that_can_be_reached() {
    let (_server, alice, machine) = setup();
    if !has("cargo") {
        return;
    }
    let manifest =
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nitoa = \"1\"\n";
    let outside = TempDir::new().unwrap();
    for directory in [outside.path(), machine.workspace()] {
        fs::create_dir(directory.join("src")).unwrap();
        fs::write(directory.join("src/lib.rs"), "").unwrap();
        fs::write(directory.join("Cargo.toml"), manifest).unwrap();
    }
    let mut fetch = Command::new("cargo");
    let fetch = fetch
        .args(["fetch", "-q"])
        .current_dir(outside.path())
        .env("CARGO_HOME", outside.path().join("home"));
    if !fetch.env("CARGO_NET_RETRY", "0").stderr(Stdio::null()).status().unwrap().success() {
        eprintln!("skipped: the registry is not reachable");
        return;
    }
    succeeds(&alice, "cargo fetch -q && cargo check -q --offline && ls ~/.cargo/registry >/dev/null");
}

#[test]
fn an_npm_project_installs_and_tests() {
    let (_server, alice, _machine) = setup();
    if !has("npm") {
        return;
    }
    let script = "mkdir -p dep app && cd dep && \
        echo '{\"name\":\"dep\",\"version\":\"1.0.0\",\"bin\":{\"dep-tool\":\"tool.js\"}}' > package.json && \
        echo 'module.exports = () => 42' > index.js && printf '#!/usr/bin/env node\\nconsole.log(\"tool\")\\n' > tool.js && \
        npm pack --silent && cd ../app && \
        echo '{\"name\":\"app\",\"version\":\"1.0.0\",\"scripts\":{\"test\":\"node test.js\"},\
               \"dependencies\":{\"dep\":\"file:../dep/dep-1.0.0.tgz\"}}' > package.json && \
        echo 'require(\"assert\").equal(require(\"dep\")(), 42); console.log(\"passed\")' > test.js && \
        npm install --offline --silent && npm test --silent && npm install --offline --silent -g ../dep/dep-1.0.0.tgz && dep-tool";
    assert_eq!(succeeds(&alice, script).lines().rev().take(2).collect::<Vec<_>>(), ["tool", "passed"]);
}

#[test]
fn pip_installs_into_a_venv() {
    let (_server, alice, _machine) = setup();
    if !has("python3") {
        return;
    }
    let wheel = "import zipfile\nz = zipfile.ZipFile('pk-1.0-py3-none-any.whl', 'w')\ni = 'pk-1.0.dist-info/'\n\
        for n, t in [('pk.py', 'VALUE = 42\\n'), (i + 'METADATA', 'Metadata-Version: 2.1\\nName: pk\\nVersion: 1.0\\n'),\n\
        (i + 'WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n'), (i + 'RECORD', '')]:\n    z.writestr(n, t)\nz.close()\n";
    let script = format!(
        "cat > make.py <<'END'\n{wheel}END\npython3 make.py && python3 -m venv v && \
         v/bin/pip install -q --no-index ./pk-1.0-py3-none-any.whl && v/bin/python -c 'import pk; print(pk.VALUE)'"
    );
    assert_eq!(succeeds(&alice, &script), "42\n");
}

#[test]
fn make_and_go_build() {
    let (_server, alice, _machine) = setup();
    let script = "mkdir made && cd made && printf 'all: hello\\n\\t./hello\\n' > Makefile && \
        printf '#include <stdio.h>\\nint main(void) { puts(\"made\"); return 0; }\\n' > hello.c && make -s";
    if has("make") && has("cc") {
        assert_eq!(succeeds(&alice, script), "made\n");
    }
    if has("go") {
        let script = "mkdir -p app/lib && cd app/lib && export GOPROXY=off GOFLAGS=-mod=mod && go mod init example.com/lib 2>/dev/null && echo 'package lib; const Value = 42' > lib.go && \
            cd .. && go mod init example.com/app 2>/dev/null && go mod edit -require=example.com/lib@v0.0.0 -replace=example.com/lib=./lib && \
            printf 'package main\\nimport \"example.com/lib\"\\nfunc main() { println(lib.Value) }\\n' > main.go && go run . 2>&1";
        assert_eq!(succeeds(&alice, script), "42\n");
    }
}

#[test]
fn a_test_server_is_reached_by_another_command() {
    let (_server, alice, _machine) = setup();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    succeeds(&alice, "echo served > page");
    let serving = format!("exec python3 -m http.server --bind 127.0.0.1 {port}");
    let started = alice.run(&["exec", "--detach", "--", "sh", "-c", &serving]);
    assert_eq!(started.code, 0, "{}", started.stderr);
    let get = format!(
        "import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/page').read().decode(), end='')"
    );
    let page = tests::eventually("the page is served", std::time::Duration::from_secs(60), || {
        let output = alice.run(&["exec", "--", "python3", "-c", &get]);
        (output.code == 0).then_some(output.stdout)
    });
    assert_eq!(page, "served\n");
}

#[test]
fn git_works_and_its_configuration_and_hooks_cannot_be_changed() {
    let (_server, alice, machine) = with_repository(&[]);
    let script = "git config --global user.name n && git config --global user.email e@example.com && echo more >> file && \
        git commit -qam second && git checkout -q -b topic && git switch -q main && echo x > new && git add new && git stash -q && \
        git stash pop -q && git commit -qm third && git init -q --bare ../topic.git 2>/dev/null; git log --oneline | wc -l";
    assert_eq!(succeeds(&alice, script).trim(), "3");
    for script in [
        "git config --local core.fsmonitor evil",
        "echo evil > .git/hooks/post-checkout",
        "mv .git old",
        "echo / > .git/commondir",
    ] {
        let output = alice.run(&["exec", "--json", "--", "sh", "-c", script]);
        let exit: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
        assert!(exit["code"] != 0 && exit["sandbox_denied"] == true, "{script}: {}", output.stdout);
    }
    let mut terminal = Terminal::start(alice.command(&["shell"]), 24, 200);
    terminal.types("echo evil > .git/hooks/post-checkout || echo re''fused\r");
    terminal.sees("refused");
    let source = TempDir::new().unwrap();
    let evil = source.path().join("evil");
    fs::write(&evil, "evil").unwrap();
    for target in [":.git/config", ":.git/hooks/pre-commit", ":.git/commondir"] {
        let output = alice.run(&["cp", evil.to_str().unwrap(), target]);
        assert!(
            output.code != 0 && output.stderr.contains("--allow-git-config"),
            "{target}: {}",
            output.stderr
        );
    }
    assert_eq!(alice.run(&["cp", evil.to_str().unwrap(), ":.git/description"]).code, 0);
    git(machine.workspace(), &["status"]);
    let config = fs::read_to_string(machine.workspace().join(".git/config")).unwrap();
    assert!(!config.contains("evil"), "{config}");
}

#[test]
fn git_configuration_can_be_opened_and_more_paths_allowed() {
    let more = TempDir::with_prefix("sandbridge-more-").unwrap();
    let more = more.path().canonicalize().unwrap();
    fs::write(more.join("file"), "text").unwrap();
    let (_server, alice, machine) =
        with_repository(&["--allow-git-config", "--allow-write", more.to_str().unwrap()]);
    let script =
        format!("git config --local alias.st status && cat {0}/file && echo x > {0}/new", more.display());
    assert_eq!(succeeds(&alice, &script), "text");
    assert!(more.join("new").exists());
    assert!(fs::read_to_string(machine.workspace().join(".git/config")).unwrap().contains("st = status"));
}

#[test]
fn a_denial_is_explained_to_a_person_and_not_to_a_program() {
    let (_server, alice, _machine) = setup();
    let denied = ["exec", "--", "sh", "-c", "echo x > /etc/new"];
    let mut terminal = Terminal::start(alice.command(&denied), 24, 200);
    terminal.sees("sandbridge-runner explain");
    assert_ne!(terminal.ends(), 0);
    assert!(!alice.run(&denied).stderr.contains("explain"));
    let mut terminal =
        Terminal::start(alice.command(&["exec", "--", "sh", "-c", "echo plain; exit 1"]), 24, 200);
    terminal.sees("plain");
    terminal.ends();
    assert!(!terminal.rest().contains("explain"));
}

#[test]
fn secrets_cannot_be_read() {
    let (server, alice, machine) = setup();
    let (runner, guardian, server_pid) = (machine.runner_pid(), machine.guardian_pid(), server.pid());
    let state = TempDir::with_prefix("sandbridge-outside-").unwrap();
    let key = state.path().join("id_ed25519");
    fs::write(&key, "PRIVATE").unwrap();
    let key = key.display();
    let steal = "import ctypes, fcntl, sys, termios\n\
        l = ctypes.CDLL(None, use_errno=True)\n\
        for p in map(int, sys.argv[1:]):\n    assert l.ptrace(16, p, 0, 0) == -1\n\
        for f in (0, 1, 2):\n    try:\n        fcntl.ioctl(f, termios.TIOCSTI, b'x'); sys.exit(3)\n    except OSError:\n        pass\n";
    succeeds(
        &alice,
        &format!("cat > steal.py <<'END'\n{steal}END\npython3 steal.py {runner} {guardian} {server_pid} 1"),
    );
    for script in [
        "cat ~/.ssh/*",
        "cat /root/.ssh/* /home/*/.ssh/*",
        "cat ~/.aws/credentials ~/.netrc ~/.config/gh/hosts.yml ~/.git-credentials ~/.cargo/credentials.toml",
        &format!("cat {key}"),
        &format!(
            "cat /proc/{runner}/environ || cat /proc/{guardian}/environ || cat /proc/{server_pid}/environ"
        ),
        "cat /proc/1/environ",
        "cat /etc/shadow",
        "cat /etc/sudoers",
        "test -e /run/docker.sock || test -e /var/run/docker.sock",
        &format!("echo x > {key}"),
        &format!("ls {}", server.home().display()),
        "echo x > /root/../etc/profile",
        "cat /dev/mem || cat /dev/kmsg",
    ] {
        let output = shell(&alice, script);
        assert!(output.code != 0 && output.stdout.is_empty(), "{script}: {}", output.stdout);
    }
    assert_eq!(fs::read_to_string(state.path().join("id_ed25519")).unwrap(), "PRIVATE");
}

/// Runs the runner's own program, as root or as an ordinary user.
fn runner(as_nobody: bool, directory: &Path, words: &[&str]) -> Command {
    let program = directory.join("runner");
    fs::copy(binaries::runner(), &program).unwrap();
    let mut command = if as_nobody {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(program);
        command
    } else {
        Command::new(program)
    };
    command
        .args(words)
        .arg("--workspace")
        .arg(directory.join("work"))
        .arg("--state-dir")
        .arg(directory.join("state"));
    command.current_dir(directory);
    command
}

#[test]
fn doctor_tests_the_confinement_as_root_and_as_an_ordinary_user() {
    for as_nobody in [false, true] {
        let directory = tempfile::Builder::new().prefix("sandbridge-doctor-").tempdir_in("/var/tmp").unwrap();
        fs::create_dir(directory.path().join("work")).unwrap();
        git(&directory.path().join("work"), &["init", "-q"]);
        for path in ["", "work", "work/.git", "work/.git/config"] {
            let owner = as_nobody.then_some(65534);
            std::os::unix::fs::chown(directory.path().join(path), owner, owner).unwrap();
        }
        let output = runner(as_nobody, directory.path(), &["doctor", "--json"]).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!(found["ok"], true, "{found:#}");
        let names: Vec<&str> =
            found["tests"].as_array().unwrap().iter().map(|test| test["name"].as_str().unwrap()).collect();
        for expected in [
            "the workspace can be changed",
            "/etc/shadow is out of reach",
            "git's configuration cannot be changed",
        ] {
            assert!(names.contains(&expected), "{expected}: {names:?}");
        }
        assert!(output.status.success());
        let text =
            runner(as_nobody, directory.path(), &["doctor", "--profile", "read-only"]).output().unwrap();
        let text = String::from_utf8_lossy(&text.stdout).into_owned();
        assert!(text.contains("✓  the workspace cannot be changed") && !text.contains('✗'), "{text}");
    }
}

#[test]
fn explain_names_the_rule_and_a_policy_file_is_applied() {
    let directory = tempfile::Builder::new().prefix("sandbridge-explain-").tempdir_in("/var").unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for name in ["work", "more"] {
        fs::create_dir(path(name)).unwrap();
    }
    fs::write(path("policy.toml"), format!("# mine\nallow_read = [{:?}]\n", path("more"))).unwrap();
    for (target, rule, write) in
        [("work/new", "workspace", true), ("more/file", "allow-read", false), ("other", "hidden", false)]
    {
        let words = ["explain", &path(target), "--json", "--policy", &path("policy.toml")];
        let output = runner(false, directory.path(), &words).output().unwrap();
        let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
        assert_eq!((found["rule"].as_str(), found["write"].as_bool()), (Some(rule), Some(write)), "{found}");
    }
    fs::write(path("policy.toml"), "allow_raed = []\n").unwrap();
    let output =
        runner(false, directory.path(), &["doctor", "--policy", &path("policy.toml")]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && text.contains("line 1") && text.contains("allow_raed"),
        "{text}"
    );
}
