//! The pasted line with `--service`, on a machine with systemd: `scripts/vm` starts one.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tests::server::{Output, run};
use tests::{Person, Server, eventually};

/// The timeout for every step, long enough for a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);
const UNIT: &str = "sandbridge-runner.service";
/// Serializes the tests, because there is only one service for each user.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Runs lines of shell in a directory.
fn shell(directory: &TempDir, lines: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.current_dir(directory.path());
    run(shell, lines.as_bytes())
}

fn systemctl(arguments: &str) -> String {
    let user = if is_root() { "" } else { "--user " };
    let output = Command::new("sh").arg("-c").arg(format!("systemctl {user}{arguments}")).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn main_pid() -> i32 {
    systemctl(&format!("show --property MainPID --value {UNIT}")).parse().unwrap()
}

fn is_back(person: &Person, before: i32) {
    eventually("the runner is started again", PATIENCE, || {
        let pid = main_pid();
        (pid != 0 && pid != before && person.is_online("laptop")).then_some(())
    });
}

/// Every file and directory in the places where the line could leave something: its type, mode, owner and size, and a
/// link's target.
fn tree() -> BTreeSet<String> {
    let home = std::env::var("HOME").unwrap();
    let places = if is_root() { format!("{home} /usr/local /etc /var/lib /opt") } else { home };
    // The size of a directory depends on the file system; systemd and the user's manager may create any files.
    let find = format!(
        "find {places} -path /var/lib/systemd -prune -o -path /var/lib/private -prune -o \
         '(' -type d -printf '%p %y %m %U %G\n' ')' -o -printf '%p %y %m %U %G %s %l\n'"
    );
    let output = Command::new("sh").arg("-c").arg(find).output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
#[ignore = "needs a machine that systemd runs: scripts/vm"]
fn a_service_outlives_its_runner_and_uninstall_leaves_the_machine_as_it_was() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start();
    let person = server.person("alice");
    let before = tree();
    // The project is not in the temporary directory, since commands have a separate one.
    let project = TempDir::with_prefix_in("project-", std::env::var("HOME").unwrap()).unwrap();
    let added = person.json(&["runner", "add", "laptop", "--enrol", "--json"]);
    let (token, line) = (added["token"].as_str().unwrap(), added["command"].as_str().unwrap());
    let installed = shell(&project, &format!("{line} --service"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    eventually("the runner is online", PATIENCE, || person.is_online("laptop").then_some(()));
    person.run(&["use", "laptop"]);
    let first = person.run(&["exec", "--", "pwd"]);
    assert_eq!(first.stdout.trim(), project.path().to_str().unwrap(), "{}", first.stderr);
    let environment = person.run(&["exec", "--", "env"]).stdout;
    let unit = systemctl(&format!("cat {UNIT}"));
    let log = Command::new("journalctl").args(["--no-pager", "--quiet"]).output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    for text in [&environment, &unit, &log] {
        assert!(!text.contains(token) && !text.contains("sbr_"), "{text}");
    }

    for end in ["KILL", "ABRT"] {
        let pid = main_pid();
        systemctl(&format!("kill --kill-whom=main --signal={end} {UNIT}"));
        is_back(&person, pid);
        assert_eq!(person.run(&["exec", "--", "echo", "back"]).stdout, "back\n", "after {end}");
    }
    let pid = main_pid();
    let again = shell(&project, &format!("{line} --service"));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert!(again.stderr.contains("takes its place"), "{}", again.stderr);
    is_back(&person, pid);

    let uninstall =
        format!("(curl -fsSL {0}/install || wget -qO- {0}/install) | sh -s -- --uninstall", server.url());
    let gone = shell(&project, &uninstall);
    assert_eq!(gone.code, 0, "{}", gone.stderr);
    assert_eq!(systemctl(&format!("is-enabled {UNIT} || true")), "");
    drop(project);
    let after = tree();
    let differs: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(differs.is_empty(), "{differs:#?}");
}

/// Where systemd delegates version 2 of control groups, the machine's own control groups limit what commands use.
#[test]
#[ignore = "needs a machine that systemd runs: scripts/vm"]
fn a_service_limits_its_commands_by_control_groups_of_version_2() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let server = Server::start();
    let person = server.person("alice");
    let project = TempDir::with_prefix_in("project-", std::env::var("HOME").unwrap()).unwrap();
    let added = person.json(&["runner", "add", "laptop", "--enrol", "--json"]);
    let line = added["command"].as_str().unwrap();
    let installed = shell(&project, &format!("{line} --service --pids 200 --memory 300M"));
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    eventually("the runner is online", PATIENCE, || person.is_online("laptop").then_some(()));
    person.run(&["use", "laptop"]);
    let list = person.json(&["runner", "list", "--json"]);
    let layers = list[0]["layers"].as_array().unwrap();
    let limits = layers.iter().find(|layer| layer["name"] == "limits").unwrap();
    assert!(limits["holds"] == true && limits["detail"].as_str().unwrap().contains("cgroup v2"), "{limits}");
    let crowd = "bomb() { bomb | bomb & }; bomb; sleep 10; false";
    let ended = person.run(&["exec", "--timeout", "60", "--", "sh", "-c", crowd]);
    assert!(ended.stderr.contains("limit of 200 processes"), "{}", ended.stderr);
    let hoard = "exec python3 -c 'held = []\nwhile True: held.append(bytearray(1 << 20))'";
    let ended = person.run(&["exec", "--timeout", "60", "--", "sh", "-c", hoard]);
    assert!(ended.stderr.contains("300 MiB"), "{}", ended.stderr);
    assert_eq!(person.run(&["exec", "--", "echo", "well"]).stdout, "well\n");
    let uninstall = format!("curl -fsSL {}/install | sh -s -- --uninstall", server.url());
    assert_eq!(shell(&project, &uninstall).code, 0);
}
