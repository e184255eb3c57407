//! How commands start: environment, descriptors, sessions, streams, and errors at startup.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, Instant};

use crate::support::{Bench, argv, finish, read_line, shell, wait};
use runner::kill;
use runner::layers::Profile;
use runner::spawn::{Exit, SpawnError, SpawnRequest};

fn workspace() -> Bench {
    Bench::new(Profile::Workspace)
}

fn spawn_error(bench: &Bench, request: SpawnRequest) -> SpawnError {
    bench.spawner.spawn_blocking(request).map(drop).unwrap_err()
}

#[test]
fn the_environment_is_clean_and_the_request_adds_to_it() {
    let bench = workspace();
    let request = SpawnRequest {
        argv: argv(&["env"]),
        env: vec![(b"EXTRA".to_vec(), b"1=2".to_vec()), (b"TERM".to_vec(), b"xterm".to_vec())],
        ..SpawnRequest::default()
    };
    let output = finish(bench.spawner.spawn_blocking(request).unwrap());
    let variables: BTreeMap<&str, &str> =
        output.stdout.lines().filter_map(|line| line.split_once('=')).collect();
    for name in ["EXTRA", "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER"] {
        assert!(variables.contains_key(name), "{name}");
    }
    // Variables of the test runner itself, not those set for tools.
    let own = variables.keys().find(|name| name.starts_with("NEXTEST") || name.starts_with("CARGO_PKG"));
    assert_eq!(own, None);
    assert_eq!((variables["EXTRA"], variables["TERM"]), ("1=2", "xterm"));
    assert_eq!(variables["PWD"], bench.workspace().to_str().unwrap());
}

#[test]
fn only_the_three_streams_are_open() {
    let bench = workspace();
    // Without close-on-exec, as a careless library would leave it.
    let leaked = rustix::io::dup(std::io::stderr()).unwrap();
    let output = bench.run("ls /proc/self/fd");
    drop(leaked);
    // Descriptor 3 is the directory being listed.
    assert_eq!(output.stdout.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[test]
fn every_command_leads_its_own_session_with_default_signals() {
    let bench = workspace();
    let spawned =
        bench.start("cut -d' ' -f1,5,6 /proc/self/stat; grep -E 'SigBlk|SigIgn' /proc/self/status; echo $$");
    let pid = spawned.child.pid().to_string();
    let output = finish(spawned).stdout;
    let lines: Vec<&str> = output.lines().collect();
    let fields: Vec<&str> = lines[0].split(' ').collect();
    assert_eq!((fields[1], fields[2]), (pid.as_str(), pid.as_str()), "{output}");
    let signals = |line: &str| u64::from_str_radix(line.split_once('\t').unwrap().1, 16).unwrap();
    // The C library ignores its two internal signals, 32 and 33, in every process it spawns.
    assert_eq!((signals(lines[1]), signals(lines[2]) & !(0b11 << 31)), (0, 0), "{output}");
}

#[test]
fn streams_are_separate_or_merged_in_order() {
    let bench = workspace();
    let script = "for i in 1 2 3; do echo out$i; echo err$i >&2; done";
    let output = bench.run(script);
    assert_eq!((&*output.stdout, &*output.stderr), ("out1\nout2\nout3\n", "err1\nerr2\nerr3\n"));
    let request = SpawnRequest { merge_stderr: true, ..shell(script) };
    let merged = bench.spawner.spawn_blocking(request).unwrap();
    assert!(merged.stderr.is_none());
    assert_eq!(finish(merged).stdout, "out1\nerr1\nout2\nerr2\nout3\nerr3\n");
}

#[test]
fn standard_input_is_empty_unless_asked_for() {
    let bench = workspace();
    assert_eq!(bench.run("cat; echo done").stdout, "done\n");
    let mut spawned =
        bench.spawner.spawn_blocking(SpawnRequest { stdin: true, ..shell("tr a-z A-Z") }).unwrap();
    let mut stdin = fs::File::from(spawned.stdin.take().unwrap());
    stdin.write_all(b"typed").unwrap();
    drop(stdin);
    assert_eq!(finish(spawned).stdout, "TYPED");
}

#[test]
fn working_directories_stay_beneath_the_workspace() {
    let bench = workspace();
    fs::create_dir_all(bench.workspace().join("a/b")).unwrap();
    symlink("a/b", bench.workspace().join("inner")).unwrap();
    symlink("/etc", bench.workspace().join("outer")).unwrap();
    let pwd = |cwd: &[u8]| {
        let request = SpawnRequest { cwd: cwd.to_vec(), ..shell("pwd -P") };
        bench.spawner.spawn_blocking(request).map(|spawned| finish(spawned).stdout)
    };
    let inside = format!("{}\n", bench.workspace().join("a/b").display());
    let absolute = bench.workspace().join("a/b");
    for cwd in [b"a/b".as_slice(), b"inner", b"a/./b/", absolute.as_os_str().as_encoded_bytes()] {
        assert_eq!(pwd(cwd).unwrap(), inside);
    }
    for cwd in [b"..".as_slice(), b"outer", b"/etc", b"a/../..", b"missing", b"/proc/self/root"] {
        let error = pwd(cwd).unwrap_err();
        assert!(matches!(error, SpawnError::Directory(_)), "{}: {error}", String::from_utf8_lossy(cwd));
        assert_eq!(error.exit_code(), 125);
    }
}

#[test]
fn what_cannot_start_says_why_with_the_shells_exit_code() {
    let bench = workspace();
    let file = |name: &str, content: &str, mode: u32| {
        fs::write(bench.workspace().join(name), content).unwrap();
        fs::set_permissions(bench.workspace().join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain", "text", 0o644);
    file("no-interpreter", "#!/missing/interpreter\n", 0o755);
    file("no-format", "text", 0o755);
    for (words, code) in [
        (&["no-such-program"][..], 127),
        (&["./missing"], 127),
        (&["/missing/program"], 127),
        (&["./plain"], 126),
        (&["."], 127),
        (&["./"], 126),
        (&["./no-interpreter"], 126),
        (&["./no-format"], 126),
        (&[""], 125),
        (&[], 125),
        (&["a\0b"], 125),
    ] {
        let error = spawn_error(&bench, SpawnRequest { argv: argv(words), ..SpawnRequest::default() });
        assert_eq!(error.exit_code(), code, "{words:?}: {error}");
    }
    let long = SpawnRequest { argv: argv(&["true", &"x".repeat(2 << 20)]), ..SpawnRequest::default() };
    assert!(matches!(spawn_error(&bench, long), SpawnError::InvalidRequest { .. }));
    let path = SpawnRequest { env: vec![(b"PATH".to_vec(), b"/nowhere".to_vec())], ..shell("true") };
    assert_eq!(spawn_error(&bench, path).exit_code(), 127);
}

#[test]
fn exit_codes_and_signals_are_told_apart_and_stay() {
    let bench = workspace();
    assert_eq!(bench.run("exit 7").exit, Exit::Code(7));
    assert_eq!(bench.run("kill -TERM $$").exit, Exit::Signal(15));
    let mut child = bench.start("exit 9").child;
    assert_eq!(wait(&mut child), Exit::Code(9));
    assert_eq!(child.try_wait().unwrap(), Some(Exit::Code(9)));
}

#[test]
fn a_background_child_does_not_hold_up_the_status() {
    let bench = workspace();
    let started = Instant::now();
    let mut spawned = bench.start("sleep 60 & echo x");
    assert_eq!(read_line(&spawned.stdout), "x");
    assert_eq!(wait(&mut spawned.child), Exit::Code(0));
    assert!(started.elapsed() < Duration::from_secs(30), "it waited for the sleeper");
    assert_eq!(kill::kill_tree(spawned.child.mark()).survivors, 0);
}

#[test]
fn a_thousand_commands_leave_no_zombie_and_no_descriptor() {
    let bench = workspace();
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    assert!(bench.run("true").succeeded());
    let before = open();
    for _ in 0..1000 {
        let request = SpawnRequest { argv: argv(&["true"]), ..SpawnRequest::default() };
        assert_eq!(finish(bench.spawner.spawn_blocking(request).unwrap()).exit, Exit::Code(0));
    }
    assert_eq!(open(), before);
    let own = std::process::id().to_string();
    let zombies = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let rest = stat.rsplit(") ").next().unwrap_or_default();
        rest.starts_with("Z ") && rest.split(' ').nth(1) == Some(&own)
    });
    assert_eq!(zombies.count(), 0);
}

#[test]
fn a_spawner_that_is_dropped_leaves_its_commands_running() {
    let bench = workspace();
    let spawned = bench.start("echo up; sleep 60");
    assert_eq!(read_line(&spawned.stdout), "up");
    let mark = spawned.child.mark();
    drop(bench);
    assert!(!kill::members(mark).is_empty());
    kill::kill_tree(mark);
}
