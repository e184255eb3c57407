//! Commands: the requests to an xbot runner, and the handling of its answers.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{connect, connect_at, fault, info, result};
use crate::{Approval, ExecEvent, ExecOutcome, ExecRequest, Profile, SandboxError};

const CAP: usize = 1 << 20;

#[tokio::test(start_paused = true)]
async fn commands_bring_output_code_and_duration() {
    let (_router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("echo hi; echo err >&2; exit 3")).await.unwrap();
    let asked = runner.asked_for("exec").await;
    assert_eq!(
        asked["body"],
        json!({"command": "echo hi; echo err >&2; exit 3", "shell": true, "timeout": 3600})
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    runner.answer(&asked, "exec_result", result("hi\n", "err\n", 3, false)).await;
    let collected = exec.collect(CAP).await.unwrap();
    assert_eq!((&collected.stdout[..], &collected.stderr[..]), (&b"hi\n"[..], &b"err\n"[..]));
    let ExecOutcome { code, timed_out, truncated, duration, .. } = collected.outcome;
    assert_eq!((code, timed_out, truncated, duration), (Some(3), false, false, Duration::from_secs(2)));
}

#[tokio::test(start_paused = true)]
async fn programs_come_with_their_name_as_first_argument() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut request = ExecRequest::argv(["/bin/echo", "a b", "c"]);
    request.cwd = Some(b"sub/../dir".to_vec());
    request.timeout = Some(Duration::from_millis(1500));
    request = request.run_as("dev", Some(Approval::given_by("alice")));
    let exec = sandbox.exec(request).await.unwrap();
    let body = runner.serve("exec", "exec_result", result("a b c\n", "", 0, false)).await;
    let expected = json!({
        "command": "", "args": ["/bin/echo", "a b", "c"], "shell": false, "dir": "/home/dev/ws/dir", "timeout": 2,
        "run_as_user": "dev",
    });
    assert_eq!(body, expected);
    assert_eq!(exec.collect(CAP).await.unwrap().outcome.code, Some(0));
}

#[tokio::test(start_paused = true)]
async fn variables_and_merged_output_are_a_wrapper_around_the_command() {
    let (_router, sandbox, mut runner) = connect().await;
    let with = |mut request: ExecRequest, merged: bool| {
        request.merge_stderr = merged;
        request.env = if merged { Vec::new() } else { vec![(b"FOO".to_vec(), b"a=b c".to_vec())] };
        request
    };
    let shell = || ExecRequest::shell("pwd");
    let argv = || ExecRequest::argv(["x=y", "-z"]);
    for (request, expected) in [
        (with(shell(), true), json!(["/bin/sh", "-c", "exec 2>&1\npwd"])),
        (with(argv(), true), json!(["/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", "x=y", "-z"])),
        (with(shell(), false), json!(["env", "FOO=a=b c", "/bin/sh", "-c", "pwd"])),
        (with(argv(), false), json!(["env", "FOO=a=b c", "/bin/sh", "-c", "exec \"$@\"", "sh", "x=y", "-z"])),
    ] {
        let exec = sandbox.exec(request).await.unwrap();
        let body = runner.serve("exec", "exec_result", result("", "", 0, false)).await;
        assert_eq!((&body["args"], &body["shell"]), (&expected, &json!(false)));
        exec.collect(CAP).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn input_is_gathered_until_it_ends_and_then_the_command_starts() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut request = ExecRequest::shell("cat");
    request.stdin = true;
    let exec = sandbox.exec(request.clone()).await.unwrap();
    let control = exec.control();
    let text = "é".repeat(300 * 1024);
    control.write_stdin(text.as_bytes()).await.unwrap();
    control.close_stdin();
    let body = runner.serve("exec", "exec_result", result("done", "", 0, false)).await;
    assert_eq!(body["stdin"], text);
    assert_eq!(exec.collect(CAP).await.unwrap().stdout, b"done");

    let exec = sandbox.exec(request).await.unwrap();
    exec.control().write_stdin(b"\xff").await.unwrap();
    exec.control().close_stdin();
    let error = exec.collect(CAP).await.unwrap_err();
    assert!(error.kind() == "invalid_body" && error.to_string().contains("UTF-8"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_clock_decides_what_timed_out() {
    let (_router, sandbox, mut runner) = connect().await;
    // How long the command took and its exit code; whether the runner claimed a timeout; the expected result.
    for (took_ms, exit_code, claimed, timed_out, still_open) in [
        (5_001, -1, false, true, false),
        (100, -1, false, false, false),
        (5_001, -1, true, true, true),
        (5_001, 0, false, false, false),
        (100, 7, false, false, false),
    ] {
        let mut request = ExecRequest::shell("x");
        request.timeout = Some(Duration::from_secs(5));
        let exec = sandbox.exec(request).await.unwrap();
        let asked = runner.asked_for("exec").await;
        tokio::time::sleep(Duration::from_millis(took_ms)).await;
        runner.answer(&asked, "exec_result", result("partial\n", "", exit_code, claimed)).await;
        let collected = exec.collect(CAP).await.unwrap();
        assert_eq!(collected.stdout, b"partial\n");
        let outcome = collected.outcome;
        assert_eq!(
            (outcome.code, outcome.signal),
            (Some(exit_code), None),
            "the runner's own value, never a guess"
        );
        assert_eq!((outcome.timed_out, outcome.still_open), (timed_out, still_open));
    }
}

#[tokio::test(start_paused = true)]
async fn a_limit_beyond_the_dialects_is_refused_and_meeting_it_unasked_is_told() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut request = ExecRequest::shell("x");
    request.timeout = Some(Duration::from_millis(3_600_001));
    let error = sandbox.exec(request).await.unwrap().collect(CAP).await.unwrap_err();
    assert!(error.kind() == "unsupported" && error.to_string().contains("3600 s"), "{error}");

    let mut exec = sandbox.exec(ExecRequest::shell("sleep inf")).await.unwrap();
    let answers = async {
        let asked = runner.asked_for("exec").await;
        let end = Instant::now() + Duration::from_secs(3600);
        // A command that runs that long needs answers to pings.
        assert!(tokio::time::timeout_at(end, runner.asked()).await.is_err(), "nothing else is asked");
        runner.answer(&asked, "exec_result", result("so far", "", -1, false)).await;
    };
    let events = async {
        assert_eq!(exec.next().await, Some(ExecEvent::Stdout("so far".into())));
        let Some(ExecEvent::Failed(error)) = exec.next().await else { panic!("no error") };
        assert!(error.to_string().contains("longer than 3600 s"), "{error}");
    };
    tokio::join!(answers, events);
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_waits_for_a_descendant_does_not_hang_the_exec() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut request = ExecRequest::shell("sleep 600 & echo done");
    request.timeout = Some(Duration::from_secs(5));
    let begin = Instant::now();
    let exec = sandbox.exec(request).await.unwrap();
    let asked = runner.asked_for("exec").await;
    let error = exec.collect(CAP).await.unwrap_err();
    assert_eq!(error.kind(), "lost");
    assert!(error.to_string().contains("has its output open"), "{error}");
    assert_eq!(begin.elapsed(), Duration::from_secs(35));
    // Its much later answer matches no request, and the link lives.
    runner.answer(&asked, "exec_result", result("done\n", "", 0, false)).await;
    let exec = sandbox.exec(ExecRequest::shell("echo z")).await.unwrap();
    runner.serve("exec", "exec_result", result("z\n", "", 0, false)).await;
    assert_eq!(exec.collect(CAP).await.unwrap().stdout, b"z\n");
}

#[tokio::test(start_paused = true)]
async fn answers_in_any_order_find_their_commands() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut execs = Vec::new();
    for number in 0..30 {
        execs.push(sandbox.exec(ExecRequest::shell(format!("{number}"))).await.unwrap());
    }
    let mut asked: Vec<Value> = Vec::new();
    for _ in 0..30 {
        asked.push(runner.asked_for("exec").await);
    }
    asked.sort_by_key(|request| {
        request["body"]["command"].as_str().unwrap().chars().rev().collect::<String>()
    });
    for request in asked.iter().rev() {
        let command = request["body"]["command"].as_str().unwrap();
        runner.answer(request, "exec_result", result(command, "", 0, false)).await;
        runner.answer(request, "exec_result", result("a second answer", "", 1, false)).await;
    }
    for (number, exec) in execs.into_iter().enumerate() {
        assert_eq!(exec.collect(CAP).await.unwrap().stdout, number.to_string().as_bytes());
    }
}

#[tokio::test(start_paused = true)]
async fn output_beyond_the_cap_is_counted_and_not_handed_on() {
    let (_router, sandbox, mut runner) = connect().await;
    let mut request = ExecRequest::shell("x");
    request.output_cap_bytes = Some(150_000);
    let exec = sandbox.exec(request).await.unwrap();
    runner.serve("exec", "exec_result", result(&"x".repeat(100_000), &"y".repeat(100_000), 0, false)).await;
    let collected = exec.collect(CAP).await.unwrap();
    assert_eq!((collected.stdout.len(), collected.stderr.len()), (100_000, 50_000));
    let ExecOutcome { truncated, stdout_bytes, stderr_bytes, .. } = collected.outcome;
    assert_eq!((truncated, stdout_bytes, stderr_bytes), (true, 100_000, 100_000));
}

#[tokio::test(start_paused = true)]
async fn what_did_not_start_says_why() {
    let (_router, sandbox, mut runner) = connect().await;
    let missing = "exec error: fork/exec /no/such: no such file or directory";
    let argv = || ExecRequest::argv(["/no/such"]);
    let exec = sandbox.exec(argv()).await.unwrap();
    runner.serve("exec", "error", fault("EIO", missing)).await;
    runner.serve("stat", "file_info", info(4096, 2_147_484_141, true)).await;
    assert_eq!(exec.collect(CAP).await.unwrap_err().kind(), "command_not_found");

    let mut request = argv();
    request.cwd = Some(b"gone".to_vec());
    let exec = sandbox.exec(request).await.unwrap();
    runner.serve("exec", "error", fault("EIO", missing)).await;
    runner.serve("stat", "error", fault("ENOENT", "stat /home/dev/ws/gone: no such file or directory")).await;
    assert_eq!(exec.collect(CAP).await.unwrap_err().kind(), "invalid_cwd");

    for (message, kind) in [
        ("exec error: exec: \"nosuch\": executable file not found in $PATH", "command_not_found"),
        ("exec error: fork/exec ./data: permission denied", "not_executable"),
        ("exec error: chdir /home/dev/ws/a.txt: not a directory", "invalid_cwd"),
        ("exec error: anything else", "io"),
    ] {
        let exec = sandbox.exec(argv()).await.unwrap();
        runner.serve("exec", "error", fault("EIO", message)).await;
        assert_eq!(exec.collect(CAP).await.unwrap_err().kind(), kind, "{message}");
    }
    let mut request = argv();
    request = request.run_as("nobody", Some(Approval::given_by("alice")));
    let exec = sandbox.exec(request).await.unwrap();
    let message = "exec error: exec: \"sudo\": executable file not found in $PATH";
    runner.serve("exec", "error", fault("EIO", message)).await;
    assert_eq!(exec.collect(CAP).await.unwrap_err().kind(), "unsupported");
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_said_is_refused_before_anything_is_sent() {
    let (_router, sandbox, mut runner) = connect().await;
    let refused = async |change: fn(&mut ExecRequest)| {
        let mut request = ExecRequest::argv(["x"]);
        change(&mut request);
        sandbox.exec(request).await.unwrap().collect(CAP).await.unwrap_err().kind()
    };
    assert_eq!(refused(|request| request.profile = Some(Profile::Workspace)).await, "unsupported");
    assert_eq!(refused(|request| request.cwd = Some(b"../out".to_vec())).await, "escapes_workspace");
    assert_eq!(
        refused(|request| request.cwd = Some(b"/home/dev/ws_evil".to_vec())).await,
        "escapes_workspace"
    );
    assert_eq!(refused(|request| request.env = vec![(b"-i".to_vec(), Vec::new())]).await, "invalid_body");
    assert_eq!(
        refused(|request| request.env = vec![(b"A".to_vec(), b"\xff".to_vec())]).await,
        "invalid_body"
    );
    for command in [&[][..], &[&b"\xff"[..]], &[b"a\0b"]] {
        let exec = sandbox.exec(ExecRequest::argv(command.iter().map(|part| part.to_vec()))).await.unwrap();
        assert_eq!(exec.collect(CAP).await.unwrap_err().kind(), "invalid_body");
    }
    let exec = sandbox.exec(ExecRequest::shell("only this one is sent")).await.unwrap();
    let asked = runner.asked_for("exec").await;
    assert_eq!(asked["body"]["command"], "only this one is sent");
    // And a signal cannot reach it.
    assert_eq!(exec.control().signal(15).await.unwrap_err().kind(), "unsupported");

    let (_router, sandbox, _runner) = connect_at("relative").await;
    let mut request = ExecRequest::shell("pwd");
    request.cwd = Some(b"sub".to_vec());
    assert_eq!(sandbox.exec(request).await.unwrap().collect(CAP).await.unwrap_err().kind(), "invalid_cwd");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_command_says_that_it_may_go_on() {
    let (_router, sandbox, mut runner) = connect().await;
    let exec = sandbox.exec(ExecRequest::shell("sleep 9")).await.unwrap();
    let asked = runner.asked_for("exec").await;
    exec.control().cancel();
    let error = exec.collect(CAP).await.unwrap_err();
    assert!(
        matches!(&error, SandboxError::Remote { message, .. } if message.contains("may continue")),
        "{error}"
    );
    assert_eq!(error.kind(), "cancelled");
    runner.answer(&asked, "exec_result", result("", "", 0, false)).await;
    // Dropped execs are given up the same way.
    drop(sandbox.exec(ExecRequest::shell("dropped")).await.unwrap());
    let exec = sandbox.exec(ExecRequest::shell("echo z")).await.unwrap();
    loop {
        let asked = runner.asked_for("exec").await;
        runner.answer(&asked, "exec_result", result("z", "", 0, false)).await;
        if asked["body"]["command"] == "echo z" {
            break;
        }
    }
    assert_eq!(exec.collect(CAP).await.unwrap().stdout, b"z");
}
