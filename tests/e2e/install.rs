//! The pasted line: from a machine that has nothing to a runner on it, and back.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tests::server::{Output, run};
use tests::{Authority, BareRoot, Person, Server, Who, eventually};

/// How long it may take from the paste to the first command's output.
const FIRST_COMMAND_WITHIN: Duration = Duration::from_secs(60);
/// How long anything else may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// Adds a runner; its token for one use, and the line to paste.
fn line(person: &Person, name: &str) -> (String, String) {
    let added = person.json(&["runner", "add", name, "--json"]);
    (added["token"].as_str().unwrap().to_owned(), added["command"].as_str().unwrap().to_owned())
}

/// Pastes a line into a shell in the user's project; what it says is read by [`said`].
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

/// `--uninstall`, with what the machine has to fetch the script.
fn uninstall(server: &Server, root: &BareRoot, who: Who) -> Output {
    root.run(who, &format!("wget -qO- {}/install | sh -s -- --uninstall", server.url()))
}

#[test]
fn one_paste_brings_a_bare_machine_online_and_uninstall_leaves_it_as_it_was() {
    let server = Server::start();
    let person = server.person("alice");
    for (who, name) in [(Who::Root, "box"), (Who::Dev, "laptop")] {
        install_and_uninstall(&server, &person, &BareRoot::new(), who, name);
    }
}

#[test]
fn one_paste_brings_a_fresh_debian_online_and_uninstall_leaves_it_as_it_was() {
    let Some(root) = BareRoot::debian() else { return };
    let server = Server::start();
    let person = server.person("alice");
    install_and_uninstall(&server, &person, &root, Who::Root, "box");
    // With GNU's wget alone.
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

/// Neither the token for one use nor the one it was exchanged for is anywhere but in the token's file.
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
    assert!(processes.len() > 2, "the runner's are among them: {processes:?}");
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
fn the_same_line_works_again_on_its_machine_and_is_refused_at_once_on_another() {
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
    // A token that was never made, by the same line.
    let wrong =
        elsewhere.run(Who::Dev, &line.replace(&token, &format!("sbe_{}", "x".repeat(token.len() - 4))));
    assert!(wrong.code == 5 && wrong.stderr.contains("runner add"), "{}: {}", wrong.code, wrong.stderr);
    tests::process::terminate(&mut again);
}

#[test]
fn two_installs_at_once_are_both_whole() {
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
fn what_cannot_work_is_said_before_anything_is_changed() {
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
        (format!("{piped}| SANDBRIDGE_TOKEN=hello sh -s"), "is no runner's token"),
        (format!("{piped}| SANDBRIDGE_TOKEN='{token} ' sh -s"), "is not whole"),
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
fn a_script_that_was_cut_off_does_nothing() {
    let server = Server::start();
    let root = BareRoot::new();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let before = root.tree();
    let ends = (1..script.len() - 1).step_by(311).chain(script.len() - 30..script.len() - 1);
    for end in ends.filter(|end| script.is_char_boundary(*end)) {
        let mut shell = root.shell(Who::Dev, Who::Dev.project());
        shell.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
        let output = run(shell, &script.as_bytes()[..end]);
        assert!(!output.stderr.contains("sandbridge: "), "{end}: {}", output.stderr);
        assert!(root.tree() == before, "{end}");
    }
}

/// A server that gives everybody the same answer; its address.
fn answering(answer: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            let mut part = [0; 4096];
            while !head.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut part).unwrap_or(0) {
                    0 => break,
                    count => head.extend_from_slice(&part[..count]),
                }
            }
            let _ = stream.write_all(&answer);
        }
    });
    format!("http://{address}")
}

fn http(head: &str, body: &[u8]) -> Vec<u8> {
    let mut answer =
        format!("HTTP/1.1 {head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len())
            .into_bytes();
    answer.extend_from_slice(body);
    answer
}

#[test]
fn a_download_that_is_not_the_runner_is_not_installed_and_the_old_one_stays() {
    let server = Server::start();
    let root = BareRoot::new();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let runner = std::fs::read(tests::binaries::runner_static()).unwrap();
    let mut altered = runner.clone();
    altered[1_000_000] ^= 1;
    let html = b"<!DOCTYPE html><html><body>Welcome to our network</body></html>";
    let portal = answering(http("200 OK\r\nContent-Type: text/html", html));
    let other = b"#!/bin/sh\necho sandbridge-runner 9.9.9\n";
    let cut = {
        let mut answer = http("200 OK", &runner);
        answer.truncate(3_000_000);
        answer
    };
    let other_hash = root
        .run(
            Who::Dev,
            &format!("printf '{}' | sha256sum", String::from_utf8_lossy(other).replace('\n', "\\n")),
        )
        .stdout;
    let other_hash = other_hash.split(' ').next().unwrap();
    let from = |script: &str, server_url: &str| {
        script.replace(&format!("server={}", server.url()), &format!("server={server_url}"))
    };
    let own_hash = script.lines().find_map(|line| line.strip_prefix("sha256=")).unwrap();
    let installed = root.run(Who::Dev, "mkdir -p ~/.local/bin && echo old >~/.local/bin/sandbridge-runner");
    assert_eq!(installed.code, 0);
    let before = root.tree();
    for (hostile, words) in [
        (from(&script, &answering(http("200 OK", &altered))), "is not the runner that the server announced"),
        (from(&script, &answering(cut)), "othing was installed"),
        (from(&script, &portal), "a captive portal or a proxy"),
        (
            from(&script, &answering(http(&format!("302 Found\r\nLocation: {portal}/login"), b""))),
            "captive portal",
        ),
        (
            from(&script, &answering(http("404 Not Found", br#"{"error":{"kind":"not_found"}}"#))),
            "othing was installed",
        ),
        (from(&script, "http://127.0.0.1:1"), "nothing was installed"),
        (
            from(&script, &answering(http("200 OK", other))).replace(own_hash, other_hash),
            "tell its administrator",
        ),
    ] {
        // busybox's wget there; here, curl as well as wget, by their absence.
        let mut there = root.shell(Who::Dev, Who::Dev.project());
        there.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
        check_refusal(&run(there, hostile.as_bytes()), words);
        assert!(root.tree() == before, "{words}");
        for tool in ["curl", "wget"] {
            let place = tempfile::TempDir::new().unwrap();
            check_refusal(&here(&hostile, &[tool], place.path(), &[], &[]), words);
            assert_eq!(place.path().read_dir().unwrap().count(), 0, "{words}");
        }
    }
}

/// Runs a script on this machine, in a directory, with the programs that it needs and these, with these options and variables.
pub(crate) fn here(
    script: &str,
    tools: &[&str],
    directory: &Path,
    options: &[&str],
    variables: &[(&str, &str)],
) -> Output {
    let programs = tempfile::TempDir::new().unwrap();
    let common = "awk cat chmod cut df dirname head id mkdir mktemp mv rm rmdir sed sha256sum sort tr uname";
    for name in common.split(' ').chain(tools.iter().copied()) {
        let program = if name == "busybox" { "wget" } else { name };
        let found =
            std::process::Command::new("sh").args(["-c", &format!("command -v {name}")]).output().unwrap();
        symlink(String::from_utf8(found.stdout).unwrap().trim(), programs.path().join(program)).unwrap();
    }
    run(in_directory(programs.path(), directory, options, variables), script.as_bytes())
}

fn in_directory(programs: &Path, directory: &Path, options: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell.args(["-s", "--", "--prefix"]).arg(directory.join("p")).arg("--state-dir").arg(directory.join("s"));
    for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] {
        shell.env_remove(name);
    }
    shell.args(options).envs(variables.iter().copied());
    shell.current_dir(directory).env("SANDBRIDGE_TOKEN", "sbe_x").env("PATH", programs);
    shell
}

#[test]
fn a_machine_that_is_not_supported_is_told_so() {
    let server = Server::start();
    let script = tests::http::text(&format!("{}/install", server.url()));
    let (programs, place) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    symlink("/bin/busybox", programs.path().join("id")).unwrap();
    let uname = programs.path().join("uname");
    for (system, machine, words) in [
        ("Linux", "riscv64", "this machine is riscv64, and the server hands out the runner for x86_64 only"),
        ("Darwin", "arm64", "this machine runs Darwin"),
        ("Linux", "x86_64", "neither curl nor wget is here"),
    ] {
        std::fs::write(&uname, format!("#!/bin/sh\n[ $1 = -s ] && echo {system} || echo {machine}\n"))
            .unwrap();
        std::fs::set_permissions(&uname, PermissionsExt::from_mode(0o755)).unwrap();
        check_refusal(&run(in_directory(programs.path(), place.path(), &[], &[]), script.as_bytes()), words);
        assert_eq!(place.path().read_dir().unwrap().count(), 0, "{words}");
    }
}

fn check_refusal(output: &Output, words: &str) {
    assert!(output.code == 1 && output.stderr.contains(words), "{words}: {}: {}", output.code, output.stderr);
}

#[test]
fn a_service_is_installed_and_replaced_or_it_is_said_how_without_one() {
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
    // systemd cannot run here: what it is asked is written down, and answered with yes.
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
fn in_wsl_without_systemd_it_is_said_how_to_have_it() {
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
fn uninstall_takes_what_it_brought_and_keeps_what_others_made() {
    let server = Server::start();
    let person = server.person("alice");
    let root = BareRoot::new();
    // A repository as old versions of git made it, and one with everything.
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

#[test]
fn a_private_authority_is_asked_for_and_a_stranger_is_refused() {
    let (authority, stranger) = (Authority::new("bridge.test"), Authority::new("bridge.test"));
    let server = Server::start_encrypted(&authority, &["--docker", "off"]);
    let [trusted, wrong] = [authority.certificate(), stranger.certificate()];
    let [trusted, wrong] = [&trusted, &wrong].map(|file| file.to_str().unwrap());
    let mut curl = Command::new("curl");
    let script = run(
        {
            curl.args(["-fsS", "--cacert", trusted, &format!("{}/install", server.url())]);
            curl
        },
        b"",
    );
    let script = script.stdout;
    for tool in ["curl", "wget"] {
        let place = tempfile::TempDir::new().unwrap();
        for options in [&["--ca-cert", wrong][..], &[]] {
            let refused = here(&script, &[tool], place.path(), options, &[]);
            check_refusal(&refused, "no authority that this machine trusts vouches for https://127.0.0.1:");
            // The one before says what is downloaded.
            assert_eq!(refused.stderr.lines().count(), 2, "one clear line: {}", refused.stderr);
            assert_eq!(place.path().read_dir().unwrap().count(), 0);
        }
        for variable in ["", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SANDBRIDGE_CA_CERT"] {
            let workspace = tempfile::TempDir::new().unwrap();
            let (option, variable) = match variable {
                "" => (&["--ca-cert", trusted][..], None),
                name => (&[][..], Some((name, trusted))),
            };
            let options = [option, &["--workspace", workspace.path().to_str().unwrap()]].concat();
            // The runner finds the server as well, which knows no such token.
            let refused = here(&script, &[tool], place.path(), &options, variable.as_slice());
            assert_eq!(refused.code, 5, "{variable:?}: {}", refused.stderr);
        }
    }
    // busybox's wget knows no authority, and asks in a way that is too old for this server.
    let root = BareRoot::new();
    let before = root.tree();
    let mut there = root.shell(Who::Dev, Who::Dev.project());
    there.arg("-s").env("SANDBRIDGE_TOKEN", "sbe_x");
    let refused = run(there, script.as_bytes());
    check_refusal(&refused, "the download failed (wget: TLS error");
    assert_eq!(refused.stderr.matches("checks no certificates").count(), 1, "{}", refused.stderr);
    assert!(root.tree() == before);
}
