//! Commands: status, output, input, and refusals.

use proto::message::ExitStatus;
use proto::request::{Command, Exec, Profile as WireProfile, Signal, Stdin};
use proto::{ErrorKind, Event, Message};
use runner::layers::Profile;

use runner::limits::OUT_OF_MEMORY_POINTS;

use crate::world::{World, argv, eventually, shell};

#[test]
fn output_and_exit_code_arrive() {
    World::run(async |world| {
        let outcome = world.shell("echo out; echo err >&2; exit 7").await;
        assert_eq!((outcome.text(), &outcome.stderr[..]), ("out\n", &b"err\n"[..]));
        assert_eq!(outcome.status(), ExitStatus::Code(7));
        assert_eq!((outcome.closed().stdout_bytes, outcome.closed().stderr_bytes), (4, 4));
        assert!(!outcome.exited().timed_out && !outcome.exited().cancelled && !outcome.closed().still_open);
    });
}

#[test]
fn very_short_commands_never_lose_their_output() {
    World::run(async |world| {
        for round in 0..100 {
            let outcome = world.peer.exec(argv(&["echo", "first"])).await;
            assert_eq!(outcome.text(), "first\n", "round {round}");
        }
    });
}

#[test]
fn a_signal_that_ends_the_command_is_told() {
    World::run(async |world| {
        assert_eq!(world.shell("kill -KILL $$").await.status(), ExitStatus::Signal(9));
    });
}

#[test]
fn what_does_not_exist_or_cannot_be_run_is_told_apart() {
    World::run(async |world| {
        std::fs::write(world.path("plain"), "no program").unwrap();
        for (program, kind) in [
            ("no-such-program", ErrorKind::CommandNotFound),
            ("./missing", ErrorKind::CommandNotFound),
            ("./plain", ErrorKind::NotExecutable),
        ] {
            let error = world.peer.exec(argv(&[program])).await.error.unwrap();
            assert_eq!(error.kind, kind, "{program}: {error}");
        }
    });
}

#[test]
fn a_command_line_runs_in_the_shell() {
    World::run(async |world| {
        let request = Exec { command: Command::Shell(b"echo $((6 * 7)) | cat".to_vec()), ..argv(&[]) };
        assert_eq!(world.peer.exec(request).await.text(), "42\n");
    });
}

#[test]
fn the_working_directory_is_the_workspace_or_beneath_it() {
    World::run(async |world| {
        std::fs::create_dir(world.path("sub")).unwrap();
        std::os::unix::fs::symlink("/etc", world.path("link")).unwrap();
        let workspace = world.workspace.to_str().unwrap().to_owned();
        assert_eq!(world.shell("pwd").await.text(), format!("{workspace}\n"));
        let inside = Exec { cwd: Some("sub".into()), ..shell("pwd") };
        assert_eq!(world.peer.exec(inside).await.text(), format!("{workspace}/sub\n"));
        for (cwd, kind) in [
            ("..", ErrorKind::EscapesWorkspace),
            ("/etc", ErrorKind::EscapesWorkspace),
            ("link", ErrorKind::EscapesWorkspace),
            ("missing", ErrorKind::InvalidCwd),
        ] {
            let outside = Exec { cwd: Some(cwd.into()), ..shell("pwd") };
            assert_eq!(world.peer.exec(outside).await.error.unwrap().kind, kind, "{cwd}");
        }
    });
}

#[test]
fn variables_are_added_to_a_clean_environment() {
    World::run(async |world| {
        let request =
            Exec { env: vec![(b"GREETING".to_vec(), b"hello".to_vec())], ..shell("echo $GREETING; env") };
        let outcome = world.peer.exec(request).await;
        assert!(outcome.text().starts_with("hello\n"), "{}", outcome.text());
        assert!(!outcome.text().contains("CARGO_PKG"), "{}", outcome.text());
    });
}

#[test]
fn standard_input_is_empty_unless_asked_for() {
    World::run(async |world| {
        let outcome = world.peer.exec(argv(&["cat"])).await;
        assert_eq!((outcome.status(), outcome.text()), (ExitStatus::Code(0), ""));
    });
}

#[test]
fn standard_input_is_streamed_whole() {
    World::run(async |world| {
        let bytes: Vec<u8> = (0..3_000_000u32).map(|n| (n % 251) as u8).collect();
        let stream = world.peer.open(Exec { stdin: Stdin::Stream, ..shell("wc -c; sleep 0") });
        world.peer.upload(stream, &bytes).await;
        world.peer.end(stream);
        let outcome = world.peer.outcome(stream).await;
        assert_eq!(outcome.text().trim(), "3000000");
    });
}

#[test]
fn input_for_a_command_that_closed_it_is_discarded() {
    World::run(async |world| {
        let stream =
            world.peer.open(Exec { stdin: Stdin::Stream, ..shell("exec <&-; read x <fifo; exit 3") });
        rustix::fs::mknodat(
            rustix::fs::CWD,
            world.path("fifo"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        world.peer.upload(stream, &vec![b'x'; 2_000_000]).await;
        world.peer.end(stream);
        world.peer.flush().await;
        std::fs::write(world.path("fifo"), "go\n").unwrap();
        assert_eq!(world.peer.outcome(stream).await.status(), ExitStatus::Code(3));
    });
}

#[test]
fn merged_standard_error_keeps_the_order_it_was_written_in() {
    World::run(async |world| {
        let line = "for n in 1 2 3 4 5; do echo o$n; echo e$n >&2; done";
        let outcome = world.peer.exec(Exec { merge_stderr: true, ..shell(line) }).await;
        assert_eq!(outcome.text(), "o1\ne1\no2\ne2\no3\ne3\no4\ne4\no5\ne5\n");
        assert!(outcome.stderr.is_empty());
    });
}

#[test]
fn a_denial_is_told_apart_from_a_failure() {
    World::run(async |world| {
        assert!(world.shell("touch /etc/sandbridge-test").await.exited().sandbox_denied);
        assert!(!world.shell("exit 1").await.exited().sandbox_denied);
        assert!(!world.shell("echo Permission denied >&2; exit 0").await.exited().sandbox_denied);
    });
}

#[test]
fn a_wider_profile_is_refused_and_a_narrower_one_holds() {
    World::run(async |world| {
        let wider = Exec { profile: Some(WireProfile::FullControl), ..shell("true") };
        assert_eq!(world.peer.exec(wider).await.error.unwrap().kind, ErrorKind::SandboxDenied);
        let narrower = Exec { profile: Some(WireProfile::ReadOnly), ..shell("touch file") };
        let outcome = world.peer.exec(narrower).await;
        assert!(outcome.exited().sandbox_denied, "{outcome:?}");
        assert_eq!(world.shell("touch file").await.status(), ExitStatus::Code(0));
    });
}

#[test]
fn another_user_is_not_supported() {
    World::run_under(Profile::FullControl, async |world| {
        let request = Exec { run_as: Some("nobody".to_owned()), ..shell("true") };
        assert_eq!(world.peer.exec(request).await.error.unwrap().kind, ErrorKind::Unsupported);
    });
}

#[test]
fn an_id_names_one_command_for_ever() {
    World::run(async |world| {
        let request = shell("sleep 60");
        let stream = world.peer.open(request.clone());
        let started = world.peer.event(stream).await;
        assert!(matches!(started, Event::Message { message: Message::ExecStarted(_), .. }), "{started:?}");
        let other = Exec { exec_id: request.exec_id, ..shell("true") };
        assert_eq!(world.peer.exec(other).await.error.unwrap().kind, ErrorKind::Conflict);
        let again = world.peer.open(Exec { age_ms: 7, ..request.clone() });
        let first = world.peer.outcome(stream).await.error.unwrap();
        assert_eq!(first.kind, ErrorKind::Detached, "the newest stream reads");
        world.peer.cancel(again).await;
        assert!(world.peer.outcome(again).await.exited().cancelled);
        let known = world.peer.exec(request.clone()).await;
        assert!(known.exited().cancelled, "the result is kept: {known:?}");
        world.peer.session.acknowledge(request.exec_id);
        let expired = world.peer.exec(request).await.error.unwrap();
        assert_eq!(expired.kind, ErrorKind::Expired);
    });
}

#[test]
fn a_signal_reaches_the_exec_it_names() {
    World::run(async |world| {
        let request = shell("trap 'echo caught; exit 5' USR1; echo ready; while :; do sleep 0.05; done");
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        while !matches!(world.peer.event(stream).await, Event::Data(..)) {}
        let missing = Signal { exec_id: proto::ExecId([0; 16]), signal: 10 };
        assert_eq!(world.peer.ask(missing).await.unwrap_err().kind, ErrorKind::NoSuchExec);
        let invalid = Signal { exec_id, signal: 4_000 };
        assert_eq!(world.peer.ask(invalid).await.unwrap_err().kind, ErrorKind::InvalidBody);
        // The shell's own `sleep` gets it too and is killed; the shell's trap decides.
        assert!(matches!(world.peer.ask(Signal { exec_id, signal: 10 }).await, Ok(Message::Done(_))));
        let outcome = world.peer.outcome(stream).await;
        assert_eq!((outcome.text(), outcome.status()), ("caught\n", ExitStatus::Code(5)));
    });
}

#[test]
fn a_command_is_killed_before_the_runner_when_memory_runs_out() {
    World::run(async |world| {
        let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
        let expected = (own + 500).min(1000);
        // The command may be faster than the runner, which raises it after the start.
        let line =
            format!("until test $(cat /proc/self/oom_score_adj) = {expected}; do :; done; echo raised");
        assert_eq!(world.shell(&line).await.text(), "raised\n");
    });
}

#[test]
fn many_that_start_at_once_have_their_own_outcomes_and_the_points_of_commands() {
    World::run(async |world| {
        std::fs::write(world.path("no-interpreter"), "#!/missing/interpreter\n").unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(world.path("no-interpreter"), mode).unwrap();
        let points = || std::fs::read_to_string("/proc/self/oom_score_adj").unwrap();
        let own = points();
        let expected = (own.trim().parse::<i32>().unwrap() + OUT_OF_MEMORY_POINTS).min(1_000);
        let line = |number: i32| shell(&format!("cat /proc/$$/oom_score_adj; exit {number}"));
        for _ in 0..3 {
            let started: Vec<_> = (0..20)
                .map(|number| {
                    (number, world.peer.open(line(number)), world.peer.open(argv(&["./no-interpreter"])))
                })
                .collect();
            for (number, runs, refused) in started {
                let outcome = world.peer.outcome(runs).await;
                assert_eq!(outcome.status(), ExitStatus::Code(number));
                assert_eq!(outcome.text(), format!("{expected}\n"));
                let error = world.peer.outcome(refused).await.error.unwrap();
                assert_eq!(error.kind, ErrorKind::NotExecutable, "{error}");
            }
        }
        eventually("the runner has its own points again", || points() == own).await;
    });
}
