//! Timeout, cancel, descendants, and leftovers.

use std::time::{Duration, Instant};

use proto::message::ExitStatus;
use proto::request::Exec;
use proto::{Event, Message};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{World, argv, eventually, is_alive, shell};

fn kill(pid: u32) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
}

#[test]
fn a_sleeper_in_the_background_neither_hangs_the_exec_nor_is_hurt() {
    World::run(async |world| {
        let begun = Instant::now();
        let request = shell("sleep 60 & echo $!; echo x");
        let exec_id = request.exec_id;
        let outcome = world.peer.exec(request).await;
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "it waited for the sleeper: {:?}",
            begun.elapsed()
        );
        let mut lines = outcome.text().lines();
        let sleeper: u32 = lines.next().unwrap().parse().unwrap();
        assert_eq!((lines.next(), outcome.closed().still_open), (Some("x"), true));
        assert!(is_alive(sleeper) && !world.peer.gone.contains(&exec_id));
        kill(sleeper);
        world.peer.tree_gone(exec_id).await;
    });
}

#[test]
fn a_descendant_that_writes_after_the_exec_is_complete_is_not_hurt() {
    World::run(async |world| {
        let line = "(read go <fifo; for n in $(seq 2000); do echo filler-filler-filler-$n; done; touch alive) & echo x";
        // The FIFO is not created by a program, because the executor in this process reaps dead children.
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, world.path("fifo"), kind, mode, 0).unwrap();
        let request = shell(line);
        let exec_id = request.exec_id;
        assert_eq!(world.peer.exec(request).await.text(), "x\n");
        std::fs::write(world.path("fifo"), "go\n").unwrap();
        world.peer.tree_gone(exec_id).await;
        assert!(world.path("alive").exists());
    });
}

#[test]
fn a_descendant_that_never_falls_silent_does_not_hold_the_exec_for_ever() {
    World::run(async |world| {
        let request = shell("(while :; do echo more; sleep 0.02; done) & echo x");
        let exec_id = request.exec_id;
        let begun = Instant::now();
        let outcome = world.peer.exec(request).await;
        assert!(begun.elapsed() < Duration::from_secs(10) && outcome.closed().still_open);
        world.peer.ask(proto::request::Signal { exec_id, signal: 9 }).await.unwrap();
        world.peer.tree_gone(exec_id).await;
    });
}

#[test]
fn a_timeout_keeps_the_output_and_leaves_no_grandchild() {
    World::run(async |world| {
        let line =
            "setsid sh -c 'echo $$; trap \"\" TERM; sleep 60; sleep 60' & sleep 0.2; echo partial; sleep 60";
        let outcome = world.peer.exec(Exec { timeout_ms: Some(1_000), ..shell(line) }).await;
        assert!(outcome.exited().timed_out && !outcome.exited().cancelled, "{outcome:?}");
        assert_eq!(outcome.status(), ExitStatus::Signal(15));
        let (grandchild, rest) = outcome.text().split_once('\n').unwrap();
        assert_eq!(rest, "partial\n");
        assert!(!is_alive(grandchild.parse().unwrap()), "the grandchild survived");
    });
}

#[test]
fn a_command_that_ignores_term_is_killed_after_the_grace() {
    World::run(async |world| {
        let begun = Instant::now();
        let line = "trap '' TERM; echo $$; while :; do sleep 0.1; done";
        let outcome = world.peer.exec(Exec { timeout_ms: Some(300), ..shell(line) }).await;
        assert_eq!(outcome.status(), ExitStatus::Signal(9));
        assert!(outcome.exited().timed_out && begun.elapsed() < Duration::from_secs(30));
    });
}

#[test]
fn a_command_in_time_is_not_touched_by_its_limit() {
    World::run(async |world| {
        let outcome = world.peer.exec(Exec { timeout_ms: Some(30_000), ..argv(&["true"]) }).await;
        assert_eq!((outcome.status(), outcome.exited().timed_out), (ExitStatus::Code(0), false));
    });
}

#[test]
fn a_cancel_ends_the_tree_and_keeps_the_output() {
    World::run(async |world| {
        let request = shell("sleep 60 & echo $!; sleep 60");
        let exec_id = request.exec_id;
        let stream = world.peer.open(request);
        let sleeper = loop {
            if let Event::Data(_, _, bytes) = world.peer.event(stream).await {
                break String::from_utf8_lossy(&bytes).trim().parse().unwrap();
            }
        };
        world.peer.cancel(stream).await;
        let outcome = world.peer.outcome(stream).await;
        assert!(outcome.exited().cancelled && !outcome.exited().timed_out);
        assert_eq!(outcome.closed().stdout_bytes, format!("{sleeper}\n").len() as u64);
        assert!(!is_alive(sleeper));
        world.peer.tree_gone(exec_id).await;
    });
}

#[test]
fn concurrent_execs_do_not_mix_up_their_trees() {
    World::run(async |world| {
        let requests = [shell("sleep 60 & echo $!; wait"), shell("sleep 60 & echo $!; wait")];
        let streams = requests.map(|request| world.peer.open(request));
        let mut sleepers = Vec::new();
        for stream in streams {
            loop {
                if let Event::Data(_, _, bytes) = world.peer.event(stream).await {
                    sleepers.push(String::from_utf8_lossy(&bytes).trim().parse::<u32>().unwrap());
                    break;
                }
            }
        }
        world.peer.cancel(streams[0]).await;
        world.peer.outcome(streams[0]).await;
        assert!(!is_alive(sleepers[0]) && is_alive(sleepers[1]));
        world.peer.cancel(streams[1]).await;
        world.peer.outcome(streams[1]).await;
        assert!(!is_alive(sleepers[1]));
    });
}

#[test]
fn two_hundred_execs_leave_no_zombie_and_no_descriptor() {
    World::run(async |world| {
        let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        world.shell("true").await;
        let before = descriptors();
        for round in 0..50 {
            let requests: Vec<_> = (0..4).map(|_| shell("(exit 3) & setsid true & exit 4")).collect();
            let ids: Vec<_> = requests.iter().map(|request| request.exec_id).collect();
            let streams: Vec<_> = requests.into_iter().map(|request| world.peer.open(request)).collect();
            for stream in streams {
                assert_eq!(world.peer.outcome(stream).await.status(), ExitStatus::Code(4), "round {round}");
            }
            for id in ids {
                world.peer.tree_gone(id).await;
            }
        }
        eventually("no zombie is left", || children().is_empty()).await;
        eventually("no descriptor is left", || descriptors() <= before).await;
    });
}

/// This process's children, dead or alive.
fn children() -> Vec<String> {
    let lists = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn the_command_is_announced_before_its_output() {
    World::run(async |world| {
        let stream = world.peer.open(argv(&["echo", "x"]));
        let first = world.peer.event(stream).await;
        assert!(matches!(first, Event::Message { message: Message::ExecStarted(_), .. }), "{first:?}");
        world.peer.outcome(stream).await;
    });
}
