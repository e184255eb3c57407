//! What a confined command can and cannot do, tried with real processes.
//!
//! Where a test depends on a layer that the machine may lack, it asserts that the report mentions this.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use crate::support::{Bench, finish, shell};
use runner::confine::ConfinePolicy;
use runner::layers::{Profile, layer_name};
use runner::spawn::{Exit, SpawnError, Spawner};

fn workspace() -> Bench {
    Bench::new(Profile::Workspace)
}

#[test]
fn the_minimum_holds_and_every_layer_is_reported_once() {
    let bench = workspace();
    let report = bench.spawner.report();
    assert!(report.confined(), "{report:?}");
    assert!(report.landlock_abi() >= 1);
    for name in [
        layer_name::MOUNT_NAMESPACE,
        layer_name::PID_NAMESPACE,
        layer_name::IPC_NAMESPACE,
        layer_name::LANDLOCK,
        layer_name::LANDLOCK_SCOPE,
        layer_name::SECCOMP,
        layer_name::CAPABILITIES,
        layer_name::NO_NEW_PRIVS,
        layer_name::PRIVATE_HOME,
        layer_name::NON_DUMPABLE,
        layer_name::KILL_TIER,
        layer_name::NETWORK,
        layer_name::LIMITS,
    ] {
        assert_eq!(report.layers.iter().filter(|layer| layer.name == name).count(), 1, "{name}: {report:?}");
    }
    if rustix::process::geteuid().is_root() {
        assert!(report.holds(layer_name::MOUNT_NAMESPACE), "{report:?}");
    }
    let text = runner::doctor::render(&runner::doctor::probe(&bench.policy, Profile::Workspace).unwrap());
    assert!(text.contains("landlock") && text.contains("Commands are confined."), "{text}");
}

/// If access times were kept, the kernel would walk a path through a link the slow way each time.
#[test]
fn what_can_only_be_read_keeps_no_times_of_access() {
    let bench = workspace();
    if !bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    let mounts = bench.run("cat /proc/self/mountinfo").stdout;
    // Not every user may change the machine's own trees like this.
    let trees =
        if rustix::process::geteuid().is_root() { &["/", "/etc", "/usr"][..] } else { &["/", "/etc"] };
    for tree in trees {
        let mount = mounts.lines().find(|mount| mount.split(' ').nth(4) == Some(tree));
        assert!(mount.is_some_and(|mount| mount.contains("noatime")), "{tree}: {mounts}");
    }
}

#[test]
fn the_workspace_is_writable_and_everything_else_is_not() {
    let bench = workspace();
    assert!(
        bench
            .run("echo kept > here && mkdir -p a/b && mv here a/b/there && ln -s there a/b/link")
            .succeeded()
    );
    assert_eq!(fs::read_to_string(bench.workspace().join("a/b/there")).unwrap(), "kept\n");
    fs::create_dir(bench.outside("sibling")).unwrap();
    fs::write(bench.outside("sibling/secret"), "SECRET").unwrap();
    let sibling = bench.outside("sibling");
    let sibling = sibling.display();
    for script in [
        format!("cat {sibling}/secret"),
        format!("ls {sibling}"),
        format!("echo x > {sibling}/made"),
        "cat ../sibling/secret".to_owned(),
        "cat /etc/shadow".to_owned(),
        "ls ~root/.ssh".to_owned(),
        "echo x > /etc/made".to_owned(),
        "echo x > /usr/made".to_owned(),
        "echo x > /made".to_owned(),
        "echo x > /proc/sys/kernel/core_pattern".to_owned(),
        "ls /var/lib/dpkg".to_owned(),
        "cat /proc/kcore".to_owned(),
    ] {
        let output = bench.run(&script);
        assert!(!output.succeeded(), "{script} succeeded: {}", output.stdout);
        assert!(!output.stdout.contains("SECRET"), "{script}");
    }
    assert!(!bench.outside("sibling/made").exists());
}

#[test]
fn links_out_of_the_workspace_lead_nowhere() {
    let bench = workspace();
    fs::write(bench.outside("secret"), "SECRET").unwrap();
    symlink(bench.outside("secret"), bench.workspace().join("link")).unwrap();
    symlink("/", bench.workspace().join("root")).unwrap();
    for script in [
        "cat link",
        "cat root/etc/shadow",
        "cat /proc/self/root/etc/shadow",
        "cat /proc/1/root/etc/shadow",
        "cat /proc/self/cwd/../secret",
    ] {
        let output = bench.run(script);
        assert!(!output.succeeded() && !output.stdout.contains("SECRET"), "{script}: {}", output.stdout);
    }
}

#[test]
fn ordinary_tools_find_what_they_need() {
    let bench = workspace();
    for script in [
        "echo x > /dev/null",
        "head -c 4 /dev/urandom | wc -c",
        "echo x > /tmp/file && cat /tmp/file",
        "echo x > /dev/shm/file",
        "echo e >&2 2>/dev/stderr; echo x > /dev/stdout",
        "getent passwd root",
        "cat /etc/hosts",
        "ls /",
        "ls /usr/bin > /dev/null",
        "nproc",
        "ps > /dev/null",
        "cat /proc/self/status > /dev/null",
        "python3 -c 'import tempfile, multiprocessing; tempfile.TemporaryFile(); multiprocessing.Lock()'",
        "test \"$(readlink -f /dev/fd)\" != /dev/fd",
        "sh -c 'exit 3' || test $? = 3",
    ] {
        let output = bench.run(script);
        assert!(output.succeeded(), "{script}: {:?} {}", output.exit, output.stderr);
    }
}

#[test]
fn home_is_private_and_lasts() {
    let bench = workspace();
    assert!(bench.spawner.report().holds(layer_name::PRIVATE_HOME));
    let script =
        "git config --global user.name Someone && mkdir -p ~/.cargo/registry && echo x > ~/.cargo/registry/x";
    let output = bench.run(script);
    assert!(output.succeeded(), "{}", output.stderr);
    let home = bench.policy.private_home().unwrap();
    assert!(home.join(".gitconfig").exists() && home.join(".cargo/registry/x").exists());
    let again = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    let output = finish(again.spawn_blocking(shell("git config --global user.name; echo $HOME")).unwrap());
    let expected = if again.report().holds(layer_name::MOUNT_NAMESPACE) { &bench.policy.home } else { &home };
    assert_eq!(output.stdout, format!("Someone\n{}\n", expected.display()));
}

#[test]
fn links_planted_in_the_private_home_are_not_followed_when_the_view_is_built() {
    let bench = workspace();
    let target = bench.outside("target");
    fs::create_dir(&target).unwrap();
    let home = bench.policy.private_home().unwrap();
    for name in [".cargo", ".pyenv", ".rustup", ".local", "go"] {
        let _ = fs::remove_dir_all(home.join(name));
        symlink(&target, home.join(name)).unwrap();
    }
    let again = Spawner::start(Profile::Workspace, &bench.policy).unwrap();
    let mounted = bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE);
    assert_eq!(again.report().holds(layer_name::MOUNT_NAMESPACE), mounted, "{:?}", again.report());
    assert_eq!(fs::read_dir(&target).unwrap().count(), 0);
}

#[test]
fn temporary_directories_are_the_commands_own() {
    let bench = workspace();
    let own_root = bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE);
    let name = format!("/tmp/of-the-machine-{}", std::process::id());
    fs::write(&name, "x").unwrap();
    let seen = bench.run(&format!("cat {name}")).succeeded();
    fs::remove_file(&name).unwrap();
    assert_eq!(seen, !own_root);
}

#[test]
fn sockets_of_the_machine_do_not_exist_for_commands() {
    let bench = workspace();
    let path = format!("/run/sandbridge-test-{}.sock", std::process::id());
    let Ok(_listener) = UnixListener::bind(&path) else { return };
    let script = format!("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'");
    let output = bench.run(&script);
    fs::remove_file(&path).unwrap();
    assert_eq!(
        output.succeeded(),
        !bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE),
        "{}",
        output.stderr
    );
}

#[test]
fn the_runner_cannot_be_signalled_traced_limited_or_read() {
    let bench = workspace();
    let runner = std::process::id();
    let scoped = bench.spawner.report().holds(layer_name::LANDLOCK_SCOPE);
    for (script, always) in [
        (format!("kill -9 {runner}"), scoped),
        (format!("kill -0 {runner}"), scoped),
        (format!("cat /proc/{runner}/environ"), true),
        (format!("cat /proc/{runner}/mem"), true),
        (format!("ls -l /proc/{runner}/fd/0"), true),
        (format!("prlimit --pid {runner} --nofile=16:16"), true),
    ] {
        let output = bench.run(&script);
        assert!(!always || !output.succeeded(), "{script} succeeded: {}", output.stdout);
    }
}

#[test]
fn dangerous_system_calls_are_refused() {
    let bench = workspace();
    let namespaces = libc::CLONE_NEWUSER;
    for (call, arguments) in [
        (libc::SYS_ptrace, "0, 0, 0, 0".to_owned()),
        (libc::SYS_mount, "0, 0, 0, 0, 0".to_owned()),
        (libc::SYS_umount2, "b'/tmp', 2".to_owned()),
        (libc::SYS_setns, "0, 0".to_owned()),
        (libc::SYS_unshare, format!("{namespaces}")),
        (libc::SYS_unshare, format!("{}", libc::CLONE_NEWNS)),
        (libc::SYS_clone, format!("{}, 0, 0, 0, 0", namespaces | libc::SIGCHLD)),
        (libc::SYS_bpf, "0, 0, 0".to_owned()),
        (libc::SYS_io_uring_setup, "1, 0".to_owned()),
        (libc::SYS_keyctl, "0, 0".to_owned()),
        (libc::SYS_socket, format!("{}, 3, 0", libc::AF_PACKET)),
        (libc::SYS_socket, format!("{}, 1, 0", libc::AF_VSOCK)),
        (libc::SYS_ioctl, format!("0, {}, b'x'", libc::TIOCSTI)),
        (libc::SYS_setrlimit, format!("{}, b'\\0' * 16", libc::RLIMIT_RTTIME)),
        (libc::SYS_prlimit64, format!("0, {}, b'\\1' * 16, 0, 0, 0", libc::RLIMIT_RTTIME)),
        (libc::SYS_prlimit64, format!("1, {}, b'\\1' * 16, 0", libc::RLIMIT_NOFILE)),
    ] {
        assert_eq!(bench.errno_of(call, &arguments), libc::EPERM, "call {call}({arguments})");
    }
    assert_eq!(bench.errno_of(libc::SYS_clone3, "0, 0"), libc::ENOSYS);
    assert_eq!(
        bench.errno_of(libc::SYS_prlimit64, &format!("0, {}, 0, b'\\0' * 16", libc::RLIMIT_RTTIME)),
        0
    );
    #[cfg(target_arch = "x86_64")]
    assert_eq!(bench.errno_of(0x4000_0000 + libc::SYS_getpid, "0"), libc::ENOSYS);
}

#[test]
fn capabilities_and_devices_are_out_of_reach() {
    let bench = workspace();
    let output = bench.run("grep -E 'CapEff|CapBnd|CapPrm|NoNewPrivs|Seccomp:' /proc/self/status");
    let field = |name: &str| {
        let line = output.stdout.lines().find(|line| line.starts_with(name)).unwrap();
        u64::from_str_radix(line.split('\t').nth(1).unwrap(), 16).unwrap()
    };
    // CHOWN, DAC_OVERRIDE, FOWNER, KILL, SETGID, SETUID.
    let kept = 0b1110_1011;
    assert_eq!((field("CapEff") | field("CapPrm")) & !kept, 0, "{}", output.stdout);
    assert_eq!((field("NoNewPrivs"), field("Seccomp")), (1, 2));
    assert!(!bench.run("mknod device c 1 3").succeeded());
    assert!(!bench.run("mknod disk b 254 0").succeeded());
}

#[test]
fn the_read_only_profile_reads_and_does_not_write() {
    let bench = Bench::new(Profile::ReadOnly);
    fs::write(bench.workspace().join("file"), "text").unwrap();
    assert_eq!(bench.run("cat file").stdout, "text");
    for script in ["echo x > file", "echo x > new", "rm file", "mkdir d", "chmod 777 file"] {
        assert!(!bench.run(script).succeeded(), "{script}");
    }
    assert!(bench.run("echo x > /tmp/ok").succeeded());
    let own_root = bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE);
    assert_eq!(bench.run("echo x > ~/ok").succeeded(), own_root, "a home to throw away, or one to read");
    assert!(!bench.policy.private_home().unwrap().join("ok").exists());
}

#[test]
fn full_control_is_reported_as_not_confined() {
    let bench = Bench::new(Profile::FullControl);
    assert!(!bench.spawner.report().confined());
    fs::write(bench.outside("file"), "text").unwrap();
    assert_eq!(bench.run("cat ../file").stdout, "text");
}

#[test]
fn a_workspace_that_holds_the_home_keeps_it_and_moves_home() {
    let bench = workspace();
    let policy = ConfinePolicy { home: bench.workspace().join("me"), ..bench.policy.clone() };
    fs::create_dir(&policy.home).unwrap();
    let spawner = Spawner::start(Profile::Workspace, &policy).unwrap();
    let output = finish(spawner.spawn_blocking(shell("ls; echo x > ~/kept && echo $HOME")).unwrap());
    assert_eq!(output.exit, Exit::Code(0), "{}", output.stderr);
    assert!(output.stdout.starts_with("me\n") && !output.stdout.contains(&*policy.home.to_string_lossy()));
    assert!(policy.private_home().unwrap().join("kept").exists());
}

#[test]
fn a_workspace_that_does_not_exist_is_an_error_at_once() {
    let bench = workspace();
    let policy = ConfinePolicy { workspace: bench.outside("missing"), ..bench.policy.clone() };
    let error = Spawner::start(Profile::Workspace, &policy).unwrap_err();
    assert!(matches!(error, SpawnError::Directory(_)), "{error}");
}

#[test]
fn the_resolver_of_commands_can_be_brought_up_to_date() {
    let bench = workspace();
    let Ok(expected) = fs::read_to_string("/etc/resolv.conf") else { return };
    assert!(!bench.run("echo nameserver 203.0.113.1 > /etc/resolv.conf").succeeded());
    bench.spawner.refresh_resolver().unwrap();
    let output = bench.run("cat /etc/resolv.conf; ls -A /etc | grep -c resolv");
    assert_eq!(output.stdout, format!("{expected}1\n"));
}

#[test]
fn the_runners_state_inside_a_workspace_is_hidden_or_reported() {
    let bench = workspace();
    let state = bench.workspace().join("state");
    let policy = ConfinePolicy::detect(bench.workspace(), &state).unwrap();
    fs::write(state.join("token"), "SECRET").unwrap();
    let spawner = Spawner::start(Profile::Workspace, &policy).unwrap();
    let output =
        finish(spawner.spawn_blocking(shell("cat state/token; echo x > state/made; ls -A state")).unwrap());
    if spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        assert_eq!(output.stdout, "");
        assert!(!state.join("made").exists());
    } else {
        assert!(!spawner.report().holds(layer_name::PRIVATE_HOME));
    }
}
