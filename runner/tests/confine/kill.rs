//! Killing whole trees: by mark, without guessing.

use std::fs;
use std::time::{Duration, Instant};

use crate::support::{Bench, finish, read_line, until, wait};
use runner::kill::{self, KillOutcome};
use runner::layers::Profile;
use runner::spawn::Exit;

/// Leaves a process behind that is no longer related in any way to the shell that started it.
const DOUBLE_FORK: &str = "(setsid sh -c 'sleep 61 & wait' >/dev/null 2>&1 &) ; sleep 0.05";

fn workspace() -> Bench {
    kill::become_reaper().unwrap();
    Bench::new(Profile::Workspace)
}

#[test]
fn a_double_forked_session_is_found_and_killed() {
    let bench = workspace();
    let mut spawned = bench.start(DOUBLE_FORK);
    let mark = spawned.child.mark();
    assert_eq!(wait(&mut spawned.child), Exit::Code(0));
    until("only the detached processes are left", || kill::members(mark).len() == 2);
    assert_eq!(kill::kill_tree(mark), KillOutcome { killed: 2, survivors: 0 });
    assert!(kill::members(mark).is_empty());
}

#[test]
fn orphans_of_concurrent_commands_are_never_mixed_up() {
    let bench = workspace();
    let mut all: Vec<_> = (0..8).map(|_| bench.start(DOUBLE_FORK).child).collect();
    for child in &mut all {
        wait(child);
    }
    let marks: Vec<_> = all.iter().map(|child| child.mark()).collect();
    until("all are detached", || marks.iter().all(|mark| kill::members(*mark).len() == 2));
    for (index, mark) in marks.iter().enumerate() {
        assert_eq!(kill::kill_tree(*mark).survivors, 0);
        for (other, mark) in marks.iter().enumerate() {
            assert_eq!(kill::members(*mark).len(), if other <= index { 0 } else { 2 });
        }
    }
}

#[test]
fn a_signal_reaches_the_whole_tree_once() {
    let bench = workspace();
    let script = "trap 'echo caught; exit 0' TERM; sh -c 'trap \"exit 0\" TERM; echo up; while :; do sleep 1; done' & wait";
    let spawned = bench.start(script);
    assert_eq!(read_line(&spawned.stdout), "up");
    until("the inner sleep runs", || kill::members(spawned.child.mark()).len() == 3);
    assert_eq!(kill::signal_tree(spawned.child.mark(), 15).unwrap(), 3);
    assert_eq!(finish(spawned).stdout, "caught\n");
    assert!(kill::signal_tree(workspace().start("true").child.mark(), 9999).is_err());
}

#[test]
fn a_fork_bomb_is_killed_whole() {
    let bench = workspace();
    let script = "bomb() { while [ $(ls -d /proc/[0-9]* | wc -l) -lt 400 ]; do (bomb) & sleep 0.01; done; sleep 60; }; \
                  i=0; while [ $i -lt 200 ]; do setsid sh -c 'sleep 62 & sleep 62' & i=$((i+1)); done; echo lit; bomb";
    let mut spawned = bench.start(script);
    assert_eq!(read_line(&spawned.stdout), "lit");
    until("there are 200", || kill::members(spawned.child.mark()).len() >= 200);
    let started = Instant::now();
    let outcome = kill::kill_tree(spawned.child.mark());
    let took = started.elapsed();
    assert_eq!(outcome.survivors, 0, "{outcome:?}");
    assert!(outcome.killed >= 200 && took < Duration::from_secs(2), "{outcome:?} in {took:?}");
    println!("{} processes in {took:?}", outcome.killed);
    assert_eq!(wait(&mut spawned.child), Exit::Signal(9));
}

#[test]
fn a_process_cannot_leave_its_mark() {
    let bench = workspace();
    let script = "python3 -c 'import resource; resource.setrlimit(resource.RLIMIT_RTTIME, (1000000, 1000000))'; \
                  ulimit -R 5 2>/dev/null; echo tried; sleep 63";
    let spawned = bench.start(script);
    assert_eq!(read_line(&spawned.stdout), "tried");
    until("the sleep runs", || kill::members(spawned.child.mark()).len() == 2);
    assert_eq!(kill::kill_tree(spawned.child.mark()).survivors, 0);
}

#[test]
fn another_user_inside_a_command_is_still_its_member() {
    let bench = workspace();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "python3 -c 'import os, time; os.setgid(65534); os.setuid(65534); print(\"up\", flush=True); time.sleep(64)'";
    let spawned = bench.start(script);
    assert_eq!(read_line(&spawned.stdout), "up");
    assert!(kill::kill_tree(spawned.child.mark()).killed >= 1);
    assert!(kill::members(spawned.child.mark()).is_empty());
}

#[test]
fn orphans_are_reaped_and_awaited_children_are_not() {
    let bench = workspace();
    let mut spawned = bench.start("(setsid true &) ; exit 5");
    let pid = spawned.child.pid();
    until("it is dead", || fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z "));
    until("its orphan was reaped", || kill::reap_orphans() > 0);
    kill::reap_orphans();
    assert_eq!(spawned.child.try_wait().unwrap(), Some(Exit::Code(5)));
}

#[test]
fn everything_the_runner_started_can_be_killed_at_once() {
    let bench = workspace();
    let children: Vec<_> = (0..3).map(|_| bench.start(DOUBLE_FORK).child).collect();
    until("all are detached", || children.iter().all(|child| kill::members(child.mark()).len() >= 2));
    assert_eq!(kill::kill_everything().survivors, 0);
    assert!(children.iter().all(|child| kill::members(child.mark()).is_empty()));
}

#[test]
fn a_process_whose_first_thread_ended_is_alive_and_killed() {
    let bench = workspace();
    let exit = libc::SYS_exit;
    let script = format!(
        "exec python3 -c 'import ctypes, threading, time; threading.Thread(target=time.sleep, args=(65,)).start(); \
         print(\"up\", flush=True); ctypes.CDLL(None).syscall({exit}, 0)'"
    );
    let mut spawned = bench.start(&script);
    assert_eq!(read_line(&spawned.stdout), "up");
    let pid = spawned.child.pid();
    until("the first thread ended", || {
        fs::read_to_string(format!("/proc/{pid}/stat")).unwrap().contains(") Z ")
    });
    assert_eq!(kill::members(spawned.child.mark()), [pid]);
    assert_eq!(kill::kill_tree(spawned.child.mark()), KillOutcome { killed: 1, survivors: 0 });
    assert_eq!(wait(&mut spawned.child), Exit::Signal(9));
}

#[test]
fn another_user_is_found_without_the_capability_to_read_limits_too() {
    let bench = workspace();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let script = "exec python3 -c 'import os, time; os.fork() and os._exit(0); os.setsid(); os.setgid(65534); os.setuid(65534); \
                  print(\"up\", flush=True); time.sleep(66)'";
    let spawned = bench.start(script);
    assert_eq!(read_line(&spawned.stdout), "up");
    // For this thread only, which finds and kills the processes.
    let mut own = rustix::thread::capabilities(None).unwrap();
    own.effective.remove(rustix::thread::CapabilitySet::SYS_RESOURCE);
    rustix::thread::set_capabilities(None, own).unwrap();
    assert!(kill::kill_tree(spawned.child.mark()).killed >= 1);
    assert!(kill::members(spawned.child.mark()).is_empty());
}
