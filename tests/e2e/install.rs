//! The pasted line: from a bare machine to a running runner, and back.

mod downloads;

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use tests::server::Output;
use tests::{BareRoot, Person, Server, Who, eventually};

pub(crate) use downloads::here;

/// The time limit from pasting the line to the output of the first command.
const FIRST_COMMAND_WITHIN: Duration = Duration::from_secs(60);
/// The timeout for every other step.
const PATIENCE: Duration = Duration::from_secs(120);

/// Adds a runner; returns its one-use token, and the line to paste.
fn line(person: &Person, name: &str) -> (String, String) {
    let added = person.json(&["runner", "add", name, "--json"]);
    (added["token"].as_str().unwrap().to_owned(), added["command"].as_str().unwrap().to_owned())
}

/// Pastes a line into a shell in the user's project; [`said`] reads its output.
fn paste(root: &BareRoot, who: Who, line: &str) -> Child {
    let mut shell = root.shell(who, who.project());
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    writeln!(shell.stdin.take().unwrap(), "{line}").unwrap();
    shell
}

fn said(mut shell: Child) -> (Option<i32>, String) {
    let code = shell.wait().unwrap().code();
    let mut text = String::new();
    shell.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    (code, text)
}

fn wait_online(person: &Person, name: &str) {
    eventually(&format!("{name} is online"), PATIENCE, || person.is_online(name).then_some(()));
}

/// Runs `--uninstall`, with the machine's own program for fetching the script.
fn uninstall(server: &Server, root: &BareRoot, who: Who) -> Output {
    root.run(who, &format!("wget -qO- {}/install | sh -s -- --uninstall", server.url()))
}

#[test]
fn one_pasted_line_connects_a_bare_machine_and_uninstall_restores_it() {
    let server = Server::start();
    let person = server.person("alice");
    for (who, name) in [(Who::Root, "box"), (Who::Dev, "laptop")] {
        install_and_uninstall(&server, &person, &BareRoot::new(), who, name);
    }
}

#[test]
fn one_pasted_line_connects_a_fresh_debian_and_uninstall_restores_it() {
    let Some(root) = BareRoot::debian() else { return };
    let server = Server::start();
    let person = server.person("alice");
    install_and_uninstall(&server, &person, &root, Who::Root, "box");
    // From here on, the machine has only GNU's wget.
    assert_eq!(root.run(Who::Root, "rm /usr/bin/curl").code, 0);
    install_and_uninstall(&server, &person, &root, Who::Dev, "laptop");
}

fn install_and_uninstall(server: &Server, person: &Person, root: &BareRoot, who: Who, name: &str) {
    let before = root.tree();
    let (token, line) = line(person, name);
    let start = Instant::now();
    let shell = paste(root, who, &line);
    wait_online(person, name);
    let first = person.run(&["exec", "--on", name, "--", "pwd"]);
    let took = start.elapsed();
    assert_eq!(first.stdout.trim(), who.project(), "{}", first.stderr);
    assert!(took < FIRST_COMMAND_WITHIN, "{took:?}");
    check_secrets(root, person, name, &token);
    let gone = uninstall(server, root, who);
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    let (_, text) = said(shell);
    assert!(text.contains("installed ") && !text.contains(&token), "{text}");
    let after = root.tree();
    let differs = before
        .iter()
        .chain(&after)
        .find(|(path, about)| before.get(*path) != Some(*about) || after.get(*path) != Some(*about));
    assert_eq!(differs, None, "{}", gone.stderr);
    let again = uninstall(server, root, who);
    assert!(again.code == 1 && again.stderr.contains("nothing was changed"), "{}", again.stderr);
}

/// Checks that neither the one-use token nor the token that it was exchanged for is anywhere except in the token's
/// file.
fn check_secrets(root: &BareRoot, person: &Person, name: &str, token: &str) {
    assert_eq!(root.holding(token), Vec::<std::path::PathBuf>::new());
    let own =
        root.holding("sbr_").into_iter().find(|path| path.to_string_lossy().contains("/token-")).unwrap();
    let mode = own.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let own_token = std::fs::read_to_string(&own).unwrap().trim().to_owned();
    assert_eq!(root.holding(&own_token), [own]);
    let environment = person.run(&["exec", "--on", name, "--", "env"]);
    let processes = root.processes();
    assert!(processes.len() > 2, "the runner's processes are among them: {processes:?}");
    for secret in [token, &own_token] {
        assert!(!environment.stdout.contains(secret), "{}", environment.stdout);
        for pid in &processes {
            for file in ["cmdline", "environ"] {
                let content = std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&content).contains(secret), "{pid}: {file}");
            }
        }
    }
}

#[test]
fn the_same_line_works_again_on_its_machine_and_is_refused_on_another() {
    let server = Server::start();
    let person = server.person("alice");
    let (home, elsewhere) = (BareRoot::new(), BareRoot::new());
    let (token, line) = line(&person, "laptop");
    let mut shell = paste(&home, Who::Dev, &line);
    wait_online(&person, "laptop");
    let refused = elsewhere.run(Who::Dev, &line);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(refused.stderr.contains("used") && refused.stderr.contains("runner add"), "{}", refused.stderr);
    assert!(person.is_online("laptop"));
    tests::process::terminate(&mut shell);
    let gone = home
        .run(Who::Dev, "kill $(pidof sandbridge-runner); while pidof sandbridge-runner; do sleep 0.1; done");
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    eventually("laptop is offline", PATIENCE, || (!person.is_online("laptop")).then_some(()));
    let mut again = paste(&home, Who::Dev, &line);
    wait_online(&person, "laptop");
    // The same line with a token that was never issued.
    let wrong =
        elsewhere.run(Who::Dev, &line.replace(&token, &format!("sbe_{}", "x".repeat(token.len() - 4))));
    assert!(wrong.code == 5 && wrong.stderr.contains("runner add"), "{}: {}", wrong.code, wrong.stderr);
    tests::process::terminate(&mut again);
}

#[test]
fn two_simultaneous_installs_both_succeed() {
    let server = Server::start();
    let person = server.person("alice");
    let root = BareRoot::new();
    let lines = ["one", "two"].map(|name| line(&person, name).1);
    let shells = lines.each_ref().map(|line| paste(&root, Who::Dev, line));
    let until = Instant::now() + PATIENCE;
    while !(person.is_online("one") && person.is_online("two")) {
        if Instant::now() > until {
            let listing = root.run(Who::Dev, "ls -laR /home/dev/.local; ps -o pid,args");
            drop(uninstall(&server, &root, Who::Dev));
            panic!("{listing:?} {:#?}", shells.map(said));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let gone = uninstall(&server, &root, Who::Dev);
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    assert_eq!(root.holding("sbr_"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn errors_are_reported_before_anything_on_the_machine_is_changed() {
    let server = Server::start();
    let person = server.person("alice");
    let (_, line) = line(&person, "laptop");
    let root = BareRoot::new();
    let mounted = root.run(
        Who::Root,
        "cd / && mkdir small ro noexec && for place in small ro noexec; do mount -t tmpfs -o mode=1777 none $place; done
         mount -o remount,size=1m small && mount -o remount,ro ro && mount -o remount,noexec noexec",
    );
    assert_eq!(mounted.code, 0, "{}", mounted.stderr);
    let before = root.tree();
    let piped = line.rsplit_once("| ").unwrap().0;
    let token = line.rsplit_once("SANDBRIDGE_TOKEN=").unwrap().1.split(' ').next().unwrap();
    let with = |options: &str| format!("{line} {options}");
    for (lines, words) in [
        (with("--prefix /small"), "KiB left and the runner needs"),
        (with("--prefix /ro/a"), "/ro/a/bin cannot be made"),
        (with("--prefix /noexec/a"), "noexec"),
        (with("--state-dir /ro/state"), "/ro/state cannot be made"),
        (format!("cd; {line}"), "Change to a project's directory"),
        (format!("cd /; {line}"), "Change to a project's directory"),
        (with("--workspace /nowhere"), "there is no such directory"),
        (with("--ca-cert /nowhere"), "--ca-cert /nowhere cannot be read"),
        (with("--workspace"), "--workspace needs a value"),
        (format!("{piped}| sh -s -- --name laptop"), "SANDBRIDGE_TOKEN is missing"),
        (format!("{piped}| SANDBRIDGE_TOKEN=hello sh -s"), "is not a runner's token"),
        (format!("{piped}| SANDBRIDGE_TOKEN='{token} ' sh -s"), "is incomplete"),
    ] {
        let refused = root.run(Who::Dev, &lines);
        assert!(
            refused.code == 1 && refused.stderr.contains(words),
            "{words}: {}: {}",
            refused.code,
            refused.stderr
        );
        assert_eq!(refused.stderr.matches("sandbridge: ").count(), 1, "one clear line: {}", refused.stderr);
        assert!(root.tree() == before, "{words}: something was changed");
    }
}

#[test]
fn a_service_is_installed_and_replaced_or_the_alternative_is_explained() {
    let server = Server::start();
    let person = server.person("alice");
    let root = BareRoot::new();
    let before = root.tree();
    let (_, line) = line(&person, "laptop");
    let without = root.run(Who::Dev, &format!("{line} --service"));
    assert!(
        without.code == 1 && without.stderr.contains("@reboot cd '/home/dev/project'"),
        "{}",
        without.stderr
    );
    // systemd cannot run here: its calls are recorded, and succeed.
    let asked = root.run(
        Who::Root,
        "mkdir -p /run/systemd/system && printf '#!/bin/sh\\necho \"$@\" >>/tmp/asked\\n' >/bin/systemctl && chmod 755 /bin/systemctl",
    );
    assert_eq!(asked.code, 0, "{}", asked.stderr);
    let installed = root.run(Who::Dev, &format!("{line} --service"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let unit_file = root.path("/home/dev/.config/systemd/user/sandbridge-runner.service");
    let unit = std::fs::read_to_string(&unit_file).unwrap();
    assert!(
        unit.contains(r#""--workspace" "/home/dev/project""#)
            && unit.contains("/home/dev/.local/bin/sandbridge-runner"),
        "{unit}"
    );
    assert!(!installed.stderr.contains("proxy"), "{}", installed.stderr);
    let again =
        format!("export HTTPS_PROXY=http://proxy:3128; mkdir ../other && cd ../other && {line} --service");
    let again = root.run(Who::Dev, &again);
    assert!(again.code == 0 && again.stderr.contains("takes its place"), "{}", again.stderr);
    assert!(again.stderr.contains("edit sandbridge-runner"), "{}", again.stderr);
    assert!(std::fs::read_to_string(&unit_file).unwrap().contains("/home/dev/other"));
    let gone = uninstall(&server, &root, Who::Dev);
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    let asked = std::fs::read_to_string(root.path("/tmp/asked")).unwrap();
    assert!(
        asked.contains("--user enable sandbridge-runner.service") && asked.contains("--user disable --now"),
        "{asked}"
    );
    let cleared = root.run(Who::Root, "rm -r /run/systemd /bin/systemctl /tmp/asked /home/dev/other");
    assert_eq!(cleared.code, 0, "{}", cleared.stderr);
    assert!(root.tree() == before);
}

#[test]
fn in_wsl_without_systemd_the_error_says_how_to_enable_it() {
    let server = Server::start();
    let person = server.person("alice");
    let root = BareRoot::new();
    let kernel = "Linux version 5.15.167.4-microsoft-standard-WSL2 (root@f9c826d3017f)";
    let is_wsl = format!("echo '{kernel}' >/version && mount --bind /version /proc/version");
    assert_eq!(root.run(Who::Root, &is_wsl).code, 0);
    let without = root.run(Who::Dev, &format!("{} --service", line(&person, "laptop").1));
    assert!(without.code == 1 && without.stderr.contains("/etc/wsl.conf"), "{}", without.stderr);
    assert!(without.stderr.contains("@reboot cd '/home/dev/project'"), "{}", without.stderr);
}

#[test]
fn uninstall_removes_only_what_install_created() {
    let server = Server::start();
    let person = server.person("alice");
    let root = BareRoot::new();
    // A repository as old versions of git created it, and one with additional files.
    let made = root.run(
        Who::Dev,
        "for place in . inner/deep; do
            mkdir -p $place/.git/objects $place/.git/refs/heads && echo 'ref: refs/heads/main' >$place/.git/HEAD
            printf '[core]\n\tbare = false\n' >$place/.git/config
         done
         mkdir inner/deep/.git/hooks && echo true >inner/deep/.git/hooks/pre-commit && mkdir ../other
         mkdir -p ~/.local/state/sandbridge && echo sk-x >~/.local/state/sandbridge/llm-key",
    );
    assert_eq!(made.code, 0, "{}", made.stderr);
    std::fs::copy(tests::binaries::runner_static(), root.path("/bin/runner-by-hand")).unwrap();
    let by_hand = format!(
        "echo {} | exec runner-by-hand --server {} --token-file - --workspace ../other",
        line(&person, "hand").0,
        server.url()
    );
    let mut by_hand = paste(&root, Who::Dev, &by_hand);
    wait_online(&person, "hand");
    let before = root.tree();
    let shell = paste(&root, Who::Dev, &line(&person, "laptop").1);
    wait_online(&person, "laptop");
    assert_eq!(person.run(&["exec", "--on", "laptop", "--", "touch", "in-the-home"]).code, 0);
    assert_eq!(person.run(&["exec", "--on", "laptop", "--", "rm", "in-the-home"]).code, 0);
    assert!(root.path("/home/dev/project/inner/deep/.git/commondir").exists());
    let gone = uninstall(&server, &root, Who::Dev);
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    assert!(gone.stderr.contains("kept in /home/dev/.local/state/sandbridge"), "{}", gone.stderr);
    assert!(gone.stderr.contains("llm-key") && gone.stderr.contains("token-"), "{}", gone.stderr);
    drop(said(shell));
    assert!(root.tree() == before, "{}", gone.stderr);
    assert!(person.is_online("hand"));
    assert_eq!(person.run(&["exec", "--on", "hand", "--", "true"]).code, 0);
    tests::process::terminate(&mut by_hand);
}
