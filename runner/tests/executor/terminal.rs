//! Execs with a terminal.

use std::time::{Duration, Instant};

use proto::message::{ExitStatus, Message};
use proto::request::{Exec, Pty, Resize};
use proto::{Channel, ErrorKind, Event, ExecId, StreamId};
use runner::layers::Profile;

use crate::world::{Outcome, PATIENCE, World, argv, eventually, id, is_alive, shell};

fn pty() -> Option<Pty> {
    Some(Pty { rows: 24, columns: 80, term: "xterm-256color".to_owned() })
}

/// A command on a terminal, and its output to the screen.
struct Typist<'a> {
    world: &'a mut World,
    stream: StreamId,
    exec_id: ExecId,
    shown: Vec<u8>,
}

impl<'a> Typist<'a> {
    fn start(world: &'a mut World, request: Exec) -> Self {
        let exec_id = request.exec_id;
        let stream = world.peer.open(Exec { pty: pty(), ..request });
        Self { world, stream, exec_id, shown: Vec::new() }
    }

    fn shell(world: &'a mut World, line: &str) -> Self {
        Self::start(world, shell(line))
    }

    async fn types(&mut self, text: impl AsRef<[u8]>) {
        let typed = self.world.peer.upload(self.stream, text.as_ref());
        tokio::time::timeout(PATIENCE, typed).await.expect("typed within the patience");
    }

    /// Waits until a text was sent to the screen, then drops it with everything before it.
    async fn sees(&mut self, text: &str) {
        loop {
            let found = self.shown.windows(text.len()).position(|window| window == text.as_bytes());
            if let Some(at) = found {
                self.shown.drain(..at + text.len());
                return;
            }
            match self.world.peer.event_within(self.stream, PATIENCE).await {
                Some(Event::Data(_, Channel::Stdout, bytes)) => self.shown.extend_from_slice(&bytes),
                Some(Event::Message { message: Message::ExecStarted(_), .. } | Event::Writable(..)) => {}
                other => panic!("{other:?}, no {text:?} in {:?}", String::from_utf8_lossy(&self.shown)),
            }
        }
    }

    async fn resizes(&mut self, rows: u16, columns: u16) {
        let answer = self.world.peer.ask(Resize { exec_id: self.exec_id, rows, columns }).await;
        assert!(matches!(answer, Ok(Message::Done(_))), "{answer:?}");
    }

    async fn ends(self) -> Outcome {
        let mut outcome = self.world.peer.outcome(self.stream).await;
        outcome.stdout.splice(..0, self.shown);
        outcome
    }
}

/// Waits until a process with this command line, each word of which ends with a NUL, is in its terminal's foreground.
async fn wait_for_foreground(words: &str) {
    let is_it = |process: &std::path::Path| {
        let stat = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
        // The fields after the name: state, parent, group, session, terminal, the terminal's group.
        let in_front = fields.len() > 5 && fields[2] == fields[5];
        in_front && std::fs::read(process.join("cmdline")).is_ok_and(|line| line == words.as_bytes())
    };
    eventually(words, || {
        std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).any(|process| is_it(&process.path()))
    })
    .await;
}

const PROFILES: [Profile; 3] = [Profile::ReadOnly, Profile::Workspace, Profile::FullControl];

#[test]
fn the_standard_streams_are_one_named_terminal_in_every_profile() {
    for profile in PROFILES {
        World::run_under(profile, async |world| {
            let look = "tty; test -t 0 && test -t 1 && test -t 2 && echo all; stty size; echo $TERM; \
                        stty -a | grep -o ' iutf8'; echo to >/dev/tty; echo err >&2; \
                        echo again >/dev/stderr; cat </dev/null >$(tty) && exit 3";
            let outcome = Typist::shell(world, look).ends().await;
            let text = outcome.text();
            assert!(text.starts_with("/dev/pts/"), "{profile}: {text}");
            let rest = text.split_once("\r\n").unwrap().1;
            let expected = "all\r\n24 80\r\nxterm-256color\r\n iutf8\r\nto\r\nerr\r\nagain\r\n";
            assert_eq!(rest, expected, "{profile}");
            assert_eq!(outcome.status(), ExitStatus::Code(3));
            assert!(outcome.stderr.is_empty() && !outcome.closed().still_open, "{outcome:?}");
            assert_eq!(outcome.closed().stdout_bytes, outcome.stdout.len() as u64);
        });
    }
}

#[test]
fn a_command_sees_its_size_from_the_first_moment_and_each_change_of_it() {
    World::run(async |world| {
        let line = "trap 'stty size' WINCH; stty size; until test -e stop; do sleep 0.02; done";
        let mut typist = Typist::shell(world, line);
        typist.sees("24 80\r\n").await;
        typist.resizes(50, 132).await;
        typist.sees("50 132\r\n").await;
        typist.resizes(0, 0).await;
        typist.sees("0 0\r\n").await;
        std::fs::write(typist.world.path("stop"), "").unwrap();
        assert_eq!(typist.ends().await.status(), ExitStatus::Code(0));
    });
}

#[test]
fn only_an_exec_with_a_terminal_can_be_resized() {
    World::run(async |world| {
        let plain = shell("read x");
        let exec_id = plain.exec_id;
        let stream = world.peer.open(Exec { stdin: proto::request::Stdin::Stream, ..plain });
        world.peer.event(stream).await;
        for exec_id in [exec_id, id()] {
            let error = world.peer.ask(Resize { exec_id, rows: 1, columns: 1 }).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::NoSuchExec, "{error}");
        }
        world.peer.end(stream);
        world.peer.outcome(stream).await;
        let typist = Typist::shell(world, "true");
        let exec_id = typist.exec_id;
        typist.ends().await;
        let error = world.peer.ask(Resize { exec_id, rows: 1, columns: 1 }).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::NoSuchExec, "after its end: {error}");
    });
}

#[test]
fn control_c_interrupts_and_control_z_stops_what_is_in_front() {
    World::run(async |world| {
        let mut typist = Typist::start(world, argv(&["bash", "--norc", "-i"]));
        typist.types("PS1='$ '; sleep 1000\r").await;
        typist.sees("sleep 1000\r\n").await;
        wait_for_foreground("sleep\x001000\x00").await;
        typist.types("\x03").await;
        typist.types("echo status=$?\r").await;
        typist.sees("status=130").await;
        typist.types("sleep 1001 & jobs\r").await;
        typist.sees("Running").await;
        typist.types("fg\r").await;
        wait_for_foreground("sleep\x001001\x00").await;
        typist.types("\x1a").await;
        typist.sees("Stopped").await;
        // bash does not always print the name of a job that `wait` reaped first.
        typist.types("bg; kill %1; wait %1; echo ended=$?\r").await;
        typist.sees("ended=143").await;
        typist.types("exit 5\r").await;
        assert_eq!(typist.ends().await.status(), ExitStatus::Code(5));
    });
}

#[test]
fn the_end_of_the_input_is_typed_even_behind_half_a_line() {
    World::run(async |world| {
        for (input, read) in [("", ""), ("one\n", "one\n"), ("one\nha", "one\nha")] {
            let mut typist = Typist::shell(world, "stty -echo; echo ready; cat >file; cat file | od -An -c");
            typist.sees("ready").await;
            typist.types(input).await;
            typist.world.peer.end(typist.stream);
            let outcome = typist.ends().await;
            assert_eq!(outcome.status(), ExitStatus::Code(0), "{input:?}");
            assert_eq!(std::fs::read_to_string(world.path("file")).unwrap(), read);
        }
    });
}

#[test]
fn a_large_paste_arrives_whole_and_in_order() {
    World::run(async |world| {
        let paste: Vec<u8> = (0..150_000).flat_map(|line| format!("{line:06}\n").into_bytes()).collect();
        assert!(paste.len() > 1024 * 1024);
        let mut typist = Typist::shell(world, "stty -echo; echo ready; cat >file");
        typist.sees("ready").await;
        typist.types(&paste).await;
        typist.world.peer.end(typist.stream);
        assert_eq!(typist.ends().await.status(), ExitStatus::Code(0));
        assert!(std::fs::read(world.path("file")).unwrap() == paste);
    });
}

#[test]
fn a_line_longer_than_a_terminal_takes_does_not_stop_the_input() {
    World::run(async |world| {
        let mut typist =
            Typist::shell(world, "stty -echo; echo ready; read line; echo ${#line}; read x; echo =$x=");
        typist.sees("ready").await;
        typist.types([&[b'x'; 200_000][..], b"\nnext\n"].concat()).await;
        typist.sees("4095").await;
        // The exit may be reported before the last of the output.
        let outcome = typist.ends().await;
        assert_eq!((outcome.text(), outcome.status()), ("\r\n=next=\r\n", ExitStatus::Code(0)));
    });
}

#[test]
fn text_passes_as_it_is_both_ways() {
    World::run(async |world| {
        let mut typist =
            Typist::shell(world, "stty raw -echo; printf ready; head -c 12; printf '\\377\\000end'");
        typist.sees("ready").await;
        typist.types("äö😀\x03\x04\x1a\r").await;
        let outcome = typist.ends().await;
        assert_eq!(outcome.stdout, [&"äö😀\x03\x04\x1a\r".as_bytes()[..12], b"\xff\0end"].concat());
    });
}

#[test]
fn very_short_commands_and_large_outputs_lose_nothing() {
    World::run(async |world| {
        for round in 0..50 {
            let outcome = Typist::start(world, argv(&["echo", "first"])).ends().await;
            assert_eq!(outcome.text(), "first\r\n", "round {round}");
        }
        let outcome = Typist::shell(world, "seq 200000").ends().await;
        let expected: String = (1..=200_000).map(|number| format!("{number}\r\n")).collect();
        assert!(outcome.text() == expected);
    });
}

#[test]
fn a_command_may_close_its_terminal_and_open_it_again() {
    World::run(async |world| {
        let line = "exec 3>&1; exec <&- >&- 2>&- 3>&-; sleep 0.3; echo back >/dev/tty";
        let outcome = Typist::shell(world, line).ends().await;
        assert_eq!((outcome.text(), outcome.status()), ("back\r\n", ExitStatus::Code(0)));
    });
}

#[test]
fn what_runs_on_behind_the_command_holds_no_exec_open() {
    World::run(async |world| {
        let started = Instant::now();
        let line = "trap '' HUP; sleep 1000 & echo $!";
        let mut typist = Typist::shell(world, line);
        let exec_id = typist.exec_id;
        typist.shown.clear();
        let outcome = typist.ends().await;
        assert!(outcome.closed().still_open && started.elapsed() < PATIENCE, "{outcome:?}");
        let pid: u32 = outcome.text().trim().parse().unwrap();
        assert!(is_alive(pid));
        rustix::process::kill_process(
            rustix::process::Pid::from_raw(pid as i32).unwrap(),
            rustix::process::Signal::KILL,
        )
        .unwrap();
        world.peer.tree_gone(exec_id).await;
    });
}

#[test]
fn a_cancel_hangs_up_shells_that_ignore_the_polite_request_and_stopped_jobs() {
    World::run(async |world| {
        let mut typist = Typist::start(world, argv(&["bash", "--norc", "-i"]));
        typist.types("PS1='$ '; sleep 1002\r").await;
        wait_for_foreground("sleep\x001002\x00").await;
        typist.types("\x1a").await;
        typist.sees("$ ").await;
        let cancelled = Instant::now();
        typist.world.peer.cancel(typist.stream).await;
        let exec_id = typist.exec_id;
        let outcome = typist.ends().await;
        assert!(outcome.exited().cancelled, "{outcome:?}");
        assert!(cancelled.elapsed() < Duration::from_secs(2), "without KILL: {:?}", cancelled.elapsed());
        world.peer.tree_gone(exec_id).await;
    });
}

#[test]
fn a_time_limit_ends_even_what_ignores_all_of_it() {
    World::run(async |world| {
        let line = "trap '' HUP TERM INT; echo $$; while :; do sleep 0.1; done";
        let request = Exec { timeout_ms: Some(200), ..shell(line) };
        let outcome = Typist::start(world, request).ends().await;
        assert!(outcome.exited().timed_out, "{outcome:?}");
        assert_eq!(outcome.status(), ExitStatus::Signal(9));
        let pid: u32 = outcome.text().lines().next().unwrap().trim().parse().unwrap();
        eventually("the command is gone", || !is_alive(pid)).await;
    });
}

#[test]
fn terminals_that_make_no_sense_and_programs_that_do_not_exist_are_refused() {
    World::run(async |world| {
        for term in ["a/b", "with space", "nul\0", "\u{e9}", &"x".repeat(65)] {
            let pty = Some(Pty { rows: 1, columns: 1, term: term.to_owned() });
            let error = world.peer.exec(Exec { pty, ..shell("true") }).await.error.unwrap();
            assert_eq!(error.kind, ErrorKind::InvalidBody, "{term:?}");
        }
        let error = Typist::start(world, argv(&["no-such-program"])).ends().await.error.unwrap();
        assert_eq!(error.kind, ErrorKind::CommandNotFound);
        let kind = b"TERM".to_vec();
        let request = Exec { env: vec![(kind, b"vt100".to_vec())], ..shell("echo $TERM") };
        assert_eq!(Typist::start(world, request).ends().await.text(), "vt100\r\n");
        let pty = Some(Pty { rows: u16::MAX, columns: u16::MAX, term: String::new() });
        let outcome = world.peer.exec(Exec { pty, ..shell("stty size; echo $TERM") }).await;
        assert_eq!(outcome.text(), "65535 65535\r\ndumb\r\n");
    });
}

#[test]
fn many_terminals_leave_no_thread_and_no_descriptor() {
    World::run(async |world| {
        let count = |what: &str| std::fs::read_dir(format!("/proc/self/{what}")).unwrap().count();
        Typist::shell(world, "true").ends().await;
        let descriptors = count("fd");
        for _ in 0..20 {
            let streams: Vec<_> =
                (0..5).map(|_| world.peer.open(Exec { pty: pty(), ..argv(&["tty"]) })).collect();
            for stream in streams {
                let outcome = world.peer.outcome(stream).await;
                assert!(outcome.text().starts_with("/dev/pts/"), "{outcome:?}");
            }
        }
        let threads = || {
            let tasks = std::fs::read_dir("/proc/self/task").unwrap();
            let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
            names.filter(|name| name.trim() == "terminal").count()
        };
        eventually("the threads end", || threads() == 0).await;
        eventually("the descriptors are closed", || count("fd") <= descriptors).await;
    });
}
