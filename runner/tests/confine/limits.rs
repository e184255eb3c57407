//! Limits of commands: of each alone, and of all together.

use runner::bounds::{Bounds, Bytes, Cpus, Limits};
use runner::group::{self, GroupError, Remains};
use runner::kill;
use runner::layers::{Profile, layer_name};
use runner::spawn::{Exit, SpawnError};

use crate::guardian::is_root;
use crate::support::{Bench, finish, read_line, shell, until};

/// A bench with a group for its limits; `None` if the machine has none, which is printed then.
fn limited(limits: Limits) -> Option<(Remains, Bench)> {
    match group::establish(&limits) {
        Ok(remains) => {
            let bench =
                Bench::try_bounded(Profile::Workspace, Bounds { limits, ..Bounds::default() }).unwrap();
            Some((remains, bench))
        }
        Err(error) => {
            assert!(
                error.to_string().contains("--memory") || error.to_string().contains("Leave the limit out"),
                "{error}"
            );
            None
        }
    }
}

#[test]
fn processes_have_limits_of_their_own_that_they_cannot_raise() {
    let limits = Limits { open_files: Some(64), file_size: Some(Bytes(1 << 20)), ..Limits::default() };
    let bench = Bench::try_bounded(Profile::Workspace, Bounds { limits, ..Bounds::default() }).unwrap();
    let output = bench.run("ulimit -n; ulimit -Hn; ulimit -Hc; ulimit -n 65 2>/dev/null || echo no");
    assert_eq!(output.stdout, "64\n64\n0\nno\n");
    let hog = bench.python(
        "
held = []
try:
    while True: held.append(os.open('/dev/null', 0))
except OSError as error: print(error.errno, len(held) <= 61)",
    );
    assert_eq!(hog.stdout, "24 True\n", "{}", hog.stderr);
    let filler = bench.run("head -c 3000000 /dev/zero > big; echo $?; stat -c %s big");
    assert_eq!(filler.stdout, format!("{}\n1048576\n", 128 + libc::SIGXFSZ), "{}", filler.stderr);
    let detail = &bench.spawner.report().layer(layer_name::LIMITS).unwrap().detail;
    assert!(detail.contains("64 open files") && detail.contains("unlimited"), "{detail}");
    let most: u64 = Bench::new(Profile::Workspace).run("ulimit -Hn").stdout.trim().parse().unwrap();
    assert!(most <= 65_536, "{most}");
}

#[test]
fn commands_and_all_they_start_go_before_the_runner_when_memory_runs_out() {
    let points = |text: &str| text.trim().parse::<i32>().unwrap();
    let own = points(&std::fs::read_to_string("/proc/self/oom_score_adj").unwrap());
    let bench = Bench::new(Profile::Workspace);
    let output = bench.run("cat /proc/self/oom_score_adj; sh -c 'cat /proc/$$/oom_score_adj' & wait");
    let told: Vec<i32> = output.stdout.lines().map(points).collect();
    assert_eq!(told, [(own + 500).min(1_000); 2]);
    assert_eq!(points(&std::fs::read_to_string("/proc/self/oom_score_adj").unwrap()), own);
}

#[test]
fn what_takes_more_than_all_may_is_killed_and_nobody_else() {
    let Some((_group, bench)) = limited(Limits { memory: Some(Bytes(64 << 20)), ..Limits::default() }) else {
        return;
    };
    let layer = bench.spawner.report().layer(layer_name::LIMITS).unwrap();
    assert!(layer.holds && layer.detail.contains("memory 64 MiB"), "{layer:?}");
    let modest = bench.start("exec sleep 30");
    let bomb = bench.python("held = bytearray(200 << 20)");
    assert_eq!(bomb.exit, Exit::Signal(libc::SIGKILL), "{}", bomb.stderr);
    // Files in temporary directories count, and a kill does not free them: so they must not fill it.
    let filler = bench.run("head -c 100000000 /dev/zero > /tmp/big; echo $?");
    assert_eq!(filler.stdout, "1\n", "{}", filler.stderr);
    // A kill does not free shared memory that programs left behind either.
    let left = bench.python("print(library.shmget(0x1234, 30 << 20, 0o1600) >= 0)");
    assert_eq!(left.stdout, "True\n", "{}", left.stderr);
    assert!(!is_root() || bench.python("print(library.shmget(0x1234, 0, 0o600))").stdout == "-1\n");
    assert!(bench.python("held = bytearray(20 << 20)").succeeded());
    assert_eq!(kill::members(modest.child.mark()).len(), 1);
    kill::kill_tree(modest.child.mark());
}

#[test]
fn more_processes_than_all_may_have_are_not_started_and_can_be_killed() {
    let Some((_group, bench)) = limited(Limits { pids: Some(40), ..Limits::default() }) else { return };
    // A shell would end, and make room, when it cannot fork.
    let bomb = "exec python3 -c \"import os, time
while True:
    try: child = os.fork()
    except OSError: child = time.sleep(0.02)
    if child == 0: time.sleep(30)\"";
    let bomb = bench.start(bomb);
    let mark = bomb.child.mark();
    until("the group is full", || kill::members(mark).len() >= 35);
    assert!(kill::members(mark).len() <= 40);
    let mut refused = None;
    until("nothing more is started", || match bench.spawner.spawn_blocking(shell("true")) {
        Ok(spawned) => {
            finish(spawned);
            false
        }
        Err(error) => {
            refused = Some(error);
            true
        }
    });
    let error = refused.unwrap();
    assert!(matches!(&error, SpawnError::System { .. }) && error.to_string().contains("--pids"), "{error}");
    assert_eq!(kill::kill_tree(mark).survivors, 0);
    kill::reap_orphans();
    let mut bomb = bomb;
    until("the bomb is reaped", || bomb.child.try_wait().unwrap().is_some());
    until("there is room again", || {
        kill::reap_orphans();
        bench.spawner.spawn_blocking(shell("echo ok")).is_ok_and(|spawned| finish(spawned).stdout == "ok\n")
    });
}

#[test]
fn processor_time_is_dealt_out_to_all_commands_together() {
    let Some((_group, bench)) =
        limited(Limits { cpus: Some(Cpus { thousandths: 100 }), ..Limits::default() })
    else {
        return;
    };
    let busy = "python3 -c \"import time
end = time.monotonic() + 1.5
while time.monotonic() < end: pass
print(time.process_time())\"";
    let other = bench.start(busy);
    let used: f64 = bench.run(busy).stdout.trim().parse().unwrap();
    let used = used + read_line(&other.stdout).parse::<f64>().unwrap();
    // A tenth of a processor for a second and a half, plus the time for starting; otherwise it would have two.
    assert!((0.05..0.5).contains(&used), "{used} s");
}

#[test]
fn limits_that_were_not_set_up_are_refused_and_not_pretended() {
    let limits = Limits { pids: Some(40), ..Limits::default() };
    let error = Bench::try_bounded(Profile::Workspace, Bounds { limits, ..Bounds::default() });
    let error = error.map(|_| ()).unwrap_err();
    assert!(matches!(error, SpawnError::Unavailable(_)) && error.to_string().contains("--pids"), "{error}");
}

#[test]
fn groups_are_gone_with_the_runner() {
    let limits = Limits {
        memory: Some(Bytes(64 << 20)),
        pids: Some(40),
        cpus: Some(Cpus { thousandths: 1_000 }),
        ..Limits::default()
    };
    let remains = match group::establish(&limits) {
        Ok(remains) => remains,
        Err(GroupError::Unavailable(_) | GroupError::Refused { .. }) => {
            assert!(!is_root() || std::process::id() == 1);
            return;
        }
    };
    let own = || {
        let name = format!("sandbridge-*-{}-", std::process::id());
        let find = std::process::Command::new("find")
            .args(["/sys/fs/cgroup", "-name", &format!("{name}*")])
            .output();
        String::from_utf8(find.unwrap().stdout).unwrap().lines().count()
    };
    assert!(own() >= 1);
    drop(remains);
    assert_eq!(own(), 0);
}
