//! `sandbridge exec`: output, exit codes, time limits and standard input.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tests::{Machine, Person, Server, eventually, process};

fn setup() -> (Server, Person, Machine) {
    let server = Server::start();
    let person = server.person("alice");
    let machine = Machine::start(&server, &person, "laptop");
    (server, person, machine)
}

#[test]
fn exit_codes_are_the_commands_or_documented_ones() {
    let (_server, person, machine) = setup();
    std::fs::write(machine.workspace().join("data"), "no program").unwrap();
    let code = |arguments: &[&str]| {
        let output = person.run(&[&["exec"], arguments].concat());
        (output.code, output.stderr)
    };
    assert_eq!(code(&["--", "true"]).0, 0);
    assert_eq!(code(&["--", "sh", "-c", "exit 3"]).0, 3);
    assert_eq!(code(&["--", "sh", "-c", "exit 255"]).0, 255);
    assert_eq!(code(&["--", "sh", "-c", "kill -9 $$"]).0, 128 + 9);
    assert_eq!(code(&["--", "sh", "-c", "kill -TERM $$"]).0, 128 + 15);
    assert_eq!(code(&["--", "no-such-program"]).0, 127);
    assert_eq!(code(&["--", "./data"]).0, 126);
    assert_eq!(code(&["--timeout", "0.2", "--", "sleep", "60"]).0, 124);
    assert_eq!(code(&["--on", "desktop", "--", "true"]).0, 125);
    let (usage, hint) = code(&["--no-such-option"]);
    assert_eq!(usage, 2);
    assert!(hint.contains("--help"), "{hint}");
}

#[test]
fn output_arrives_complete_and_on_its_own_stream() {
    let (_server, person, _machine) = setup();
    let output = person.run(&["exec", "--", "sh", "-c", "echo out; echo err >&2"]);
    assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));

    let output = person.run(&["exec", "--", "sh", "-c", "head -c 10000000 /dev/zero | tr '\\0' x; exit 7"]);
    assert_eq!((output.stdout_bytes.len(), output.code), (10_000_000, 7));

    let output = person.run(&["exec", "--", "printf", "\\377\\376\\000é"]);
    assert_eq!(output.stdout_bytes, b"\xff\xfe\0\xc3\xa9");

    for _ in 0..50 {
        assert_eq!(
            person.run(&["exec", "--", "echo", "x"]).stdout,
            "x\n",
            "very short commands lose nothing"
        );
    }
}

#[test]
fn background_child_does_not_delay_the_end_of_the_exec() {
    let (_server, person, _machine) = setup();
    let start = Instant::now();
    let output = person.run(&["exec", "--", "sh", "-c", "sleep 60 & echo x"]);
    assert_eq!((output.stdout.as_str(), output.code), ("x\n", 0));
    assert!(start.elapsed() < Duration::from_secs(45), "{:?}", start.elapsed());
    let alive =
        person.run(&["exec", "--", "sh", "-c", "pgrep -x sleep >/dev/null || busybox pgrep -x sleep"]);
    assert_eq!(alive.code, 0, "the background process keeps running");
}

#[test]
fn an_exhausted_limit_is_the_last_line_even_if_more_is_written_after_the_end() {
    let (_server, person, _machine) = setup();
    // The process left in the background waits until the shell's end was noticed, then writes errors for a long time.
    let script = "(while kill -0 $$ 2>/dev/null; do :; done; i=0
                   while [ $i -lt 300 ]; do i=$((i + 1)); echo \"complaint $i\" >&2; done) &
                  echo 'x: Too many open files' >&2; exit 3";
    let check = |stderr: &str| {
        let last = stderr.lines().last().unwrap();
        assert!(last.starts_with("sandbridge: ") && last.contains("--open-files"), "{stderr}");
        let count = |words| stderr.matches(words).count();
        assert_eq!((count("sandbridge: "), count("complaint "), count("Too many")), (1, 300, 1), "{stderr}");
    };
    let output = person.run(&["exec", "--", "sh", "-c", script]);
    assert_eq!(output.code, 3, "{}", output.stderr);
    check(&output.stderr);
    // The runner keeps the result for callers that attach later.
    let detached = person.json(&["exec", "--detach", "--json", "--", "sh", "-c", script]);
    let id = detached["exec_id"].as_str().unwrap();
    let output = person.run(&["attach", id]);
    assert_eq!(output.code, 3, "{}", output.stderr);
    check(&output.stderr);
}

#[test]
fn time_limit_ends_the_whole_tree_and_keeps_the_output() {
    let (_server, person, machine) = setup();
    let marker = format!("{}", 31_000_000 + std::process::id());
    let script = format!(
        "echo partial; setsid sh -c 'trap \"\" TERM; sleep {marker} & sleep {marker}' & sleep {marker}"
    );
    let output = person.run(&["exec", "--timeout", "1", "--", "sh", "-c", &script]);
    assert_eq!((output.code, output.stdout.as_str()), (124, "partial\n"), "{}", output.stderr);
    eventually("no process of the tree is left", Duration::from_secs(60), || {
        process::with_marker(&marker).is_empty().then_some(())
    });
    assert!(process::is_alive(machine.guardian_pid()));
}

#[test]
fn standard_input_is_empty_unless_asked_for() {
    let (_server, person, _machine) = setup();
    assert_eq!(person.run(&["exec", "--", "cat"]).code, 0);
    let bytes: Vec<u8> = (0..1_000_000u32).map(|number| (number * 7) as u8).collect();
    let output = person.with_stdin(&["exec", "--stdin", "--", "cat"], &bytes);
    assert!(output.stdout_bytes == bytes && output.code == 0, "{} {}", output.code, output.stderr);
    let output = person.with_stdin(&["exec", "--stdin", "--", "true"], &bytes);
    assert_eq!(output.code, 0, "a command that does not read its input still ends: {}", output.stderr);
}

#[test]
fn output_arrives_while_the_command_runs() {
    let (_server, person, _machine) = setup();
    let mut child = person
        .command(&["exec", "--stdin", "--", "sh", "-c", "echo ready; read line; echo got $line"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut first = [0; 6];
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"ready\n");
    child.stdin.take().unwrap().write_all(b"it\n").unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!((rest.as_str(), child.wait().unwrap().code()), ("got it\n", Some(0)));
}

#[test]
fn interrupt_cancels_the_command() {
    let (_server, person, _machine) = setup();
    let marker = format!("{}", 32_000_000 + std::process::id());
    let script = format!("echo ready; sleep {marker}");
    let mut child = person
        .command(&["exec", "--", "sh", "-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    process::signal(child.id() as i32, rustix::process::Signal::INT);
    let status = child.wait().unwrap();
    assert!(!status.success(), "{status:?}");
    eventually("the command has ended", Duration::from_secs(60), || {
        process::with_marker(&marker).is_empty().then_some(())
    });
}

#[test]
fn environment_is_clean_except_for_given_variables() {
    let (_server, person, machine) = setup();
    let output = person.run(&["exec", "--env", "K=a b", "--", "sh", "-c", "echo \"$K\"; env"]);
    assert!(output.stdout.starts_with("a b\n"), "{}", output.stdout);
    assert!(!output.stdout.contains("SANDBRIDGE"), "{}", output.stdout);
    person.run(&["exec", "--", "sh", "-c", "export PATH=/poison; alias ls=rm"]);
    assert_eq!(
        person.run(&["exec", "--", "ls"]).code,
        0,
        "one command's environment does not reach the next"
    );
    std::fs::create_dir(machine.workspace().join("sub")).unwrap();
    let output = person.run(&["exec", "--cwd", "sub", "--", "pwd"]);
    assert!(output.stdout.trim_end().ends_with("/sub"), "{}", output.stdout);
}

#[test]
fn json_lines_report_everything() {
    let (_server, person, _machine) = setup();
    let output = person.run(&["exec", "--json", "--", "sh", "-c", "echo out; exit 4"]);
    let lines: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(
        lines.iter().any(|line| line["type"] == "stdout" && line["data_base64"] == "b3V0Cg=="),
        "{lines:?}"
    );
    let exit = lines.last().unwrap();
    assert_eq!((exit["type"].as_str(), exit["code"].as_i64()), (Some("exit"), Some(4)));
    assert_eq!((exit["runner"].as_str(), exit["timed_out"].as_bool()), (Some("laptop"), Some(false)));
    for field in ["signal", "sandbox_denied", "truncated", "duration_ms"] {
        assert!(exit.get(field).is_some(), "{field} in {exit}");
    }
    let output = person.run(&["exec", "--json", "--on", "desktop", "--", "true"]);
    let error: Value = serde_json::from_str(output.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((error["type"].as_str(), output.code), (Some("error"), 125));
    assert!(error["kind"].is_string() && error["message"].is_string(), "{error}");
}

#[test]
fn many_execs_leave_no_zombie_and_no_descriptor() {
    let (_server, person, machine) = setup();
    let count = if std::env::var_os("SANDBRIDGE_SOAK").is_some() { 2_000 } else { 60 };
    person.run(&["exec", "--", "true"]);
    let runner = machine.runner_pid();
    let descriptors = || std::fs::read_dir(format!("/proc/{runner}/fd")).unwrap().count();
    let before = descriptors();
    for _ in 0..count {
        assert_eq!(person.run(&["exec", "--", "sh", "-c", "setsid true & :"]).code, 0);
    }
    eventually("all descriptors are closed", Duration::from_secs(60), || {
        (descriptors() <= before).then_some(())
    });
    eventually("no zombie is left", Duration::from_secs(60), || {
        process::children(runner).is_empty().then_some(())
    });
}

#[test]
fn bulk_input_that_is_echoed_as_output_does_not_deadlock() {
    let (_server, person, _machine) = setup();
    let stdin: Vec<u8> = (0..20_000_000_u32).map(|number| (number % 251) as u8).collect();
    let output = person.with_stdin(&["exec", "--stdin", "--", "cat"], &stdin);
    assert_eq!((output.code, output.stdout_bytes == stdin), (0, true), "{}", output.stderr);
}
