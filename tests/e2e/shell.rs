//! `sandbridge shell`: a remote terminal in a local one.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use tests::docker::{IMAGE, ready};
use tests::terminal::Terminal;
use tests::{Machine, Person, Server, eventually, process};

use crate::docker::Cleanup;

fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    (server, person, machine)
}

/// The CLI on a terminal of 24 × 80.
fn shell(person: &Person, arguments: &[&str]) -> Terminal {
    let terminal = Terminal::start(person.command(&[&["shell"], arguments].concat()), 24, 80);
    terminal.wait_raw(true);
    terminal
}

/// An interactive shell with a known prompt.
fn at_prompt(person: &Person) -> Terminal {
    let mut terminal = shell(person, &[]);
    terminal.types("PS1='ready''> '; stty -echo\r");
    terminal.sees("ready> ");
    terminal
}

#[test]
fn the_users_shell_runs_on_the_runner_and_its_exit_code_is_returned() {
    let (_server, person, machine) = setup();
    let mut terminal = at_prompt(&person);
    terminal.types("tty; stty size; echo $TERM; pwd; case $- in *i*) echo interactive;; esac\r");
    let seen = terminal.sees("interactive");
    let workspace = machine.workspace().canonicalize().unwrap();
    for part in ["/dev/pts/", "24 80", "xterm-256color", workspace.to_str().unwrap()] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    assert!(!seen.contains("no job control"), "{seen}");
    terminal.types("exit 7\r");
    assert_eq!(terminal.ends(), 7);
    terminal.wait_raw(false);
}

#[test]
fn a_program_runs_instead_of_the_shell() {
    let (_server, person, machine) = setup();
    std::fs::create_dir(machine.workspace().join("sub")).unwrap();
    let arguments = ["--cwd", "sub", "--on", "laptop", "--", "sh", "-c", "tty; basename $PWD; exit 3"];
    let mut terminal = Terminal::start(person.command(&[&["shell"][..], &arguments].concat()), 24, 80);
    assert_eq!(terminal.ends(), 3);
    let rest = terminal.rest();
    assert!(rest.contains("/dev/pts/0") && rest.contains("sub"), "{rest}");
    let mut terminal = Terminal::start(person.command(&["shell", "--", "no-such-program"]), 24, 80);
    assert_eq!(terminal.ends(), 127);
    assert!(terminal.rest().contains("command not found"));
    terminal.wait_raw(false);
}

#[test]
fn without_a_terminal_the_shell_command_reports_an_error() {
    let (_server, person, _machine) = setup();
    let output = person.run(&["shell"]);
    assert_eq!(output.code, 2, "{}", output.stderr);
    assert!(
        output.stderr.contains("needs a terminal") && output.stderr.contains("exec"),
        "{}",
        output.stderr
    );
    assert_eq!(person.run(&["shell", "--json"]).code, 2);
    let mut terminal = Terminal::start(person.command(&["shell", "--on", "nowhere"]), 24, 80);
    assert_eq!(terminal.ends(), 125, "an unknown runner");
    terminal.wait_raw(false);
}

#[test]
fn an_editor_opens_inserts_saves_and_quits() {
    let (_server, person, machine) = setup();
    let mut terminal = at_prompt(&person);
    terminal.types("vim -u NONE -N notes.txt\r");
    terminal.sees("\x1b[?1049h");
    terminal.sees("notes.txt");
    terminal.types("ifirst line\rzweite Zeile: äöü 😀");
    terminal.sees("zweite Zeile");
    terminal.types("\x1b:wq\r");
    terminal.sees("\x1b[?1049l");
    terminal.sees("ready> ");
    let saved = std::fs::read_to_string(machine.workspace().join("notes.txt")).unwrap();
    assert_eq!(saved, "first line\nzweite Zeile: äöü 😀\n");
    terminal.types("exit\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn top_runs_and_a_resize_reaches_it() {
    let (_server, person, _machine) = setup();
    let mut terminal = at_prompt(&person);
    terminal.types("top -d 60\r");
    terminal.sees("PID");
    terminal.resize(40, 100);
    terminal.sees("PID");
    terminal.types("q");
    terminal.sees("ready> ");
    terminal.types("stty size\r");
    terminal.sees("40 100");
    terminal.resize(10, 30);
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        terminal.types("stty size\r");
        if terminal.sees("ready> ").contains("10 30") {
            break;
        }
        assert!(Instant::now() < deadline, "the second resize did not arrive");
    }
    terminal.types("exit\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn control_c_interrupts_the_remote_program_and_not_the_client() {
    let (_server, person, _machine) = setup();
    let mut terminal = at_prompt(&person);
    let marker = 32_000_000 + std::process::id();
    terminal.types(format!("sleep {marker}; echo status $?\r"));
    let is_running = || !process::with_marker(&format!("sleep {marker}")).is_empty();
    eventually("it sleeps", Duration::from_secs(60), || is_running().then_some(()));
    // Ctrl-C is sent only once: text typed while a shell handles a second one is discarded with its line.
    terminal.types("\x03");
    eventually("Ctrl-C ends it", Duration::from_secs(60), || (!is_running()).then_some(()));
    terminal.sees("ready> ");
    terminal.types("echo still $((40 + 2))\r");
    terminal.sees("still 42");
    terminal.types("exit\r");
    terminal.ends();
}

#[test]
fn the_escape_sequence_disconnects_and_leaves_nothing_behind() {
    let (_server, person, _machine) = setup();
    let mut terminal = at_prompt(&person);
    let marker = 33_000_000 + std::process::id();
    terminal.types(format!("sleep {marker} & vim -u NONE\r"));
    terminal.sees("\x1b[?1049h");
    terminal.types("\x1b:\r~?");
    terminal.sees("hang up");
    terminal.types("~.");
    assert_eq!(terminal.ends(), 129);
    terminal.wait_raw(false);
    assert!(terminal.rest().contains("\x1b[?1049l"), "the alternate screen is left");
    eventually("nothing is left", Duration::from_secs(60), || {
        process::with_marker(&format!("sleep {marker}")).is_empty().then_some(())
    });
}

#[test]
fn the_terminal_is_restored_after_signals_and_a_lost_server() {
    let (mut server, person, _machine) = setup();
    for (signal, code) in [(Signal::TERM, 129), (Signal::HUP, 0), (Signal::INT, 129), (Signal::QUIT, 129)] {
        let mut terminal = at_prompt(&person);
        process::signal(terminal.pid(), signal);
        assert_eq!(terminal.ends(), code, "{signal:?}");
        terminal.wait_raw(false);
    }
    let mut terminal = at_prompt(&person);
    server.restart(&["--docker", "off"]);
    assert_eq!(terminal.ends(), 125);
    terminal.wait_raw(false);
}

#[test]
fn a_detached_terminal_shows_its_screen_again_and_continues() {
    let (_server, person, _machine) = setup();
    let mut terminal = at_prompt(&person);
    terminal.types("kept=$((40 + 2)); echo screen of $kept\r");
    terminal.sees("screen of 42");
    terminal.types("\r~d");
    terminal.sees("shell --attach ");
    assert_eq!(terminal.ends(), 0);
    let left = terminal.rest();
    let exec_id = left.split_whitespace().next().unwrap().to_owned();
    assert!(person.run(&["ps"]).stdout.contains(&exec_id));
    let mut terminal = shell(&person, &["--attach", &exec_id]);
    terminal.sees("screen of 42");
    terminal.types("echo kept $kept; exit 7\r");
    terminal.sees("kept 42");
    assert_eq!(terminal.ends(), 7);
}

#[test]
fn a_large_paste_arrives_whole() {
    let (_server, person, machine) = setup();
    let mut terminal = at_prompt(&person);
    let paste: String = (0..20_000).map(|line| format!("{line:06}\r")).collect();
    // By then, the terminal is in the mode for running a program, and no longer in the mode in which the shell edits a line.
    terminal.types("echo g''o; cat >pasted; echo past''ed\r");
    terminal.sees("go\r\n");
    terminal.types(&paste);
    terminal.types("\x04");
    terminal.sees("pasted\r\n");
    let pasted = std::fs::read_to_string(machine.workspace().join("pasted")).unwrap();
    assert!(pasted == paste.replace('\r', "\n"), "{} of {} bytes", pasted.len(), paste.len());
    terminal.types("exit\r");
    terminal.ends();
}

#[test]
fn a_container_has_terminals_too() {
    ready();
    let server = Server::start_with(&["--docker", "on", "--docker-image", IMAGE]);
    let person = server.person("alice");
    person.run(&["use", "__docker__"]);
    let _cleanup = Cleanup::of(&server);
    let mut terminal = at_prompt(&person);
    terminal.types("tty; stty size; echo on >/dev/tty; echo err >/dev/stderr; echo e''nd\r");
    let seen = terminal.sees("end");
    for part in ["/dev/pts/", "24 80", "on\r\n", "err\r\n"] {
        assert!(seen.contains(part), "{part}: {seen}");
    }
    terminal.types("vi notes\r");
    terminal.sees("notes");
    // This editor treats characters right after an escape as one key.
    terminal.types("ihello");
    terminal.sees("hello");
    terminal.types("\x1b");
    terminal.sees("- notes");
    terminal.types(":wq\r");
    terminal.sees("ready> ");
    terminal.types("cat notes; exit 4\r");
    terminal.sees("hello");
    assert_eq!(terminal.ends(), 4);
}
