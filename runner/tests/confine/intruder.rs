//! Ways out that were tried from inside: each test is one that is now closed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use runner::confine::ConfinePolicy;
use runner::layers::{Profile, layer_name};
use runner::spawn::{SpawnError, Spawner};

use crate::support::{Bench, PYTHON_CALL, finish, shell};

fn workspace() -> Bench {
    Bench::new(Profile::Workspace)
}

/// A user with tools in their home, each of which becomes a mount in the commands' private home.
fn with_tools(bench: &Bench) -> ConfinePolicy {
    let home = bench.outside("person");
    for tool in [".cargo/bin", ".local/bin"] {
        fs::create_dir_all(home.join(tool)).unwrap();
    }
    fs::write(home.join(".cargo/env"), "of the tool").unwrap();
    ConfinePolicy { home, ..bench.policy.clone() }
}

#[test]
fn what_is_planted_in_the_private_home_costs_no_later_command_its_own_root() {
    let bench = workspace();
    let policy = with_tools(&bench);
    let first = Spawner::start(Profile::Workspace, &policy).unwrap();
    let planting = "cd && mv .cargo .c2; mv .local .l2; rm -rf .pyenv; mkdir -p .cargo/env/full/of/things .cargo/bin && \
                    echo x > .cargo/env/full/file && mkdir .local && echo x > .local/bin && echo x > .pyenv && chmod 0 .cargo .";
    let output = finish(first.spawn_blocking(shell(planting)).unwrap());
    assert!(output.succeeded(), "{}", output.stderr);
    // Stands for a tool that is installed where another was before.
    fs::create_dir(policy.home.join(".pyenv")).unwrap();
    // Starts spawners while the first one is alive, as for a narrower profile, and after it ended.
    for again in [Profile::ReadOnly, Profile::Workspace] {
        let again = Spawner::start(again, &policy).unwrap();
        let mounted = first.report().holds(layer_name::MOUNT_NAMESPACE);
        assert_eq!(again.report().holds(layer_name::MOUNT_NAMESPACE), mounted, "{:?}", again.report());
        if mounted {
            let look = format!(
                "cat ~/.cargo/env; test -d ~/.local/bin && test -d ~/.pyenv && ! test -e {}",
                bench.outside("state").display()
            );
            let output = finish(again.spawn_blocking(shell(&look)).unwrap());
            assert!(
                output.succeeded() && output.stdout == "of the tool",
                "{} {}",
                output.stdout,
                output.stderr
            );
        }
    }
}

#[test]
fn a_root_that_cannot_be_built_is_an_error_and_starts_nothing() {
    let bench = workspace();
    if !bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    // No entry can be created in `/proc`.
    let policy = ConfinePolicy { home: "/proc/nobody".into(), ..bench.policy.clone() };
    let error = Spawner::start(Profile::Workspace, &policy).unwrap_err();
    assert!(matches!(error, SpawnError::Confinement(_)), "{error}");
    let text = error.to_string();
    assert!(text.contains("/proc/nobody") && text.contains("doctor"), "{text}");
}

#[test]
fn a_private_home_that_cannot_be_made_is_an_error_and_starts_nothing() {
    let bench = workspace();
    let homes = bench.policy.state_dir.join("homes");
    fs::remove_dir_all(&homes).unwrap();
    fs::write(&homes, "in the way").unwrap();
    let error = Spawner::start(Profile::Workspace, &bench.policy).unwrap_err();
    assert!(matches!(error, SpawnError::Confinement(_)), "{error}");
}

/// The thread that commands inherit their confinement from.
fn spawner_thread() -> i32 {
    let mut threads = fs::read_dir("/proc/self/task").unwrap().flatten();
    let thread = threads.find(|thread| {
        fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name == "spawn-workspace\n")
    });
    thread.unwrap().file_name().to_str().unwrap().parse().unwrap()
}

#[test]
fn neither_the_runner_nor_its_spawner_can_be_named_in_a_call_that_signals() {
    let bench = workspace();
    let (runner, thread) = (std::process::id().cast_signed(), spawner_thread());
    let group = rustix::process::getpgrp().as_raw_nonzero();
    // This signal is ignored by default, should it arrive.
    let signal = libc::SIGURG;
    let mut refused = vec![
        (libc::SYS_kill, format!("-{group}, {signal}")),
        (libc::SYS_kill, format!("-1, {signal}")),
        (libc::SYS_fcntl, "0, 15, 0".to_owned()),
        (libc::SYS_ioctl, "0, 0x8901, bytes(4)".to_owned()),
        (libc::SYS_ioctl, "0, 0x8902, bytes(4)".to_owned()),
    ];
    for number in [runner, thread] {
        refused.extend([
            (libc::SYS_kill, format!("{number}, {signal}")),
            (libc::SYS_tkill, format!("{number}, {signal}")),
            (libc::SYS_tgkill, format!("{runner}, {number}, {signal}")),
            (libc::SYS_rt_sigqueueinfo, format!("{number}, {signal}, bytes(128)")),
            (libc::SYS_rt_tgsigqueueinfo, format!("{runner}, {number}, {signal}, bytes(128)")),
            (libc::SYS_pidfd_open, format!("{number}, 0")),
            (libc::SYS_pidfd_open, format!("{number}, os.O_EXCL")),
            (libc::SYS_fcntl, format!("0, 8, {number}")),
            (libc::SYS_sched_setaffinity, format!("{number}, 8, bytes([1] + [0] * 7)")),
            (libc::SYS_setpriority, format!("0, {number}, 19")),
        ]);
    }
    for (call, arguments) in refused {
        assert_eq!(bench.errno_of(call, &arguments), libc::EPERM, "call {call}({arguments})");
    }
    // Signals among commands still work.
    let own = format!("os.getpid(), {signal}");
    assert_eq!(bench.errno_of(libc::SYS_kill, &own), 0);
    assert_eq!(bench.errno_of(libc::SYS_fcntl, "0, 8, os.getpid()"), 0);
    assert!(bench.run("sleep 60 & kill $!; wait $!; test $? = 143").succeeded());
}

#[test]
fn shared_memory_and_queues_of_the_machine_are_out_of_reach() {
    let bench = workspace();
    let (key, create) = (std::process::id(), libc::IPC_CREAT | 0o666);
    let [get, control, open, unlink] =
        [libc::SYS_shmget, libc::SYS_shmctl, libc::SYS_mq_open, libc::SYS_mq_unlink];
    let name = format!("b\"sandbridge-{key}\"");
    let of_machine = |program: String| {
        let output =
            Command::new("python3").args(["-c", &format!("{PYTHON_CALL}{program}")]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let made = of_machine(format!(
        "print(library.syscall({get}, {key}, 4096, {create}), library.syscall({open}, {name}, os.O_CREAT | os.O_RDWR, 438, 0))"
    ));
    let (segment, queue) = made.trim().split_once(' ').unwrap();
    let memory_seen = bench.errno_of(get, &format!("{key}, 0, 0"));
    let queue_seen = bench.errno_of(open, &format!("{name}, os.O_RDONLY, 0, 0"));
    of_machine(format!("call({control}, {segment}, 0, 0); call({unlink}, {name})"));
    assert!(segment.parse::<i32>().unwrap() >= 0 && queue.parse::<i32>().unwrap() >= 0, "{made}");
    assert!([libc::ENOENT, libc::EPERM].contains(&memory_seen), "{memory_seen}");
    assert!([libc::ENOENT, libc::EPERM].contains(&queue_seen), "{queue_seen}");
    let detail = &bench.spawner.report().layer(layer_name::SECCOMP).unwrap().detail;
    assert!(detail.contains("System V IPC"), "{detail}");
    if detail.contains("own System V IPC") {
        assert_eq!(bench.errno_of(get, &format!("{key}, 4096, {create}")), 0);
    }
}

#[test]
fn temporary_directories_cannot_take_all_memory() {
    let bench = workspace();
    if !bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    assert!(!bench.run("fallocate -l 5G /tmp/large").succeeded());
    assert!(!bench.run("fallocate -l 600M /dev/shm/large").succeeded());
    assert!(bench.run("fallocate -l 1M /tmp/small && fallocate -l 1M /dev/shm/small").succeeded());
    let inodes = bench.run("df --output=itotal /tmp /dev/shm | tail -n 2").stdout;
    let inodes: Vec<u64> = inodes.split_whitespace().map(|count| count.parse().unwrap()).collect();
    assert!(inodes.len() == 2 && inodes.iter().all(|count| (1..=1 << 20).contains(count)), "{inodes:?}");
}

#[test]
fn root_leaves_no_set_user_id_file_behind() {
    let bench = workspace();
    if !rustix::process::geteuid().is_root() {
        return;
    }
    assert!(
        bench.run("cp /bin/true tool && mkdir shared && chmod 755 tool && chmod 2775 shared").succeeded()
    );
    for call in ["chmod 4755 tool", "chmod u+s tool", "install -m 4755 /bin/true other"] {
        assert!(!bench.run(call).succeeded(), "{call}");
    }
    let at = libc::AT_FDCWD;
    for (call, arguments) in [
        (libc::SYS_fchmod, "os.open(\"tool\", 0), 0o4755".to_owned()),
        (libc::SYS_fchmodat, format!("{at}, b\"tool\", 0o4755")),
        (452, format!("{at}, b\"tool\", 0o4755, 0")),
        (libc::SYS_openat, format!("{at}, b\"made\", os.O_CREAT | os.O_WRONLY, 0o4755")),
        (libc::SYS_openat, format!("{at}, b\".\", os.O_TMPFILE | os.O_WRONLY, 0o4755")),
        (libc::SYS_mknodat, format!("{at}, b\"made\", 0o104755, 0")),
    ] {
        assert_eq!(bench.errno_of(call, &arguments), libc::EPERM, "call {call}({arguments})");
    }
    // The filter cannot see its mode; the bit is cleared with the first byte written.
    let openat2 = libc::SYS_openat2;
    let output = bench.python(&format!(
        "import struct\nhow = struct.pack(\"QQQ\", os.O_CREAT | os.O_RDWR, 0o4755, 0)\n\
         file = library.syscall({openat2}, {at}, b\"unseen\", how, 24)\nos.write(file, b\"#!/bin/sh\")"
    ));
    assert!(output.succeeded(), "{}", output.stderr);
    for entry in fs::read_dir(bench.workspace()).unwrap().flatten() {
        let mode = entry.metadata().unwrap().permissions().mode();
        assert_eq!(mode & libc::S_ISUID, 0, "{:?} {mode:o}", entry.path());
    }
    assert_eq!(fs::metadata(bench.workspace().join("shared")).unwrap().permissions().mode() & 0o7777, 0o2775);
}

#[test]
fn a_mode_without_a_file_to_make_is_of_no_concern() {
    let bench = workspace();
    fs::write(bench.workspace().join("file"), "x").unwrap();
    let arguments = format!("{}, b\"file\", os.O_RDONLY, 0o4755", libc::AT_FDCWD);
    assert_eq!(bench.errno_of(libc::SYS_openat, &arguments), 0);
}
