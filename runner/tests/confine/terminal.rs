//! Terminals from inside: which ones a command can reach, and what it may do with them.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use runner::kill;
use runner::layers::{Profile, layer_name};
use runner::spawn::{Spawned, Terminal, TerminalSize};
use rustix::fs::OFlags;

use crate::guardian::{Guarded, Who, is_root};
use crate::support::{Bench, PYTHON_CALL, argv, shell, until, wait};

const SIZE: TerminalSize = TerminalSize { rows: 24, columns: 80 };
const CONFINED: [Profile; 2] = [Profile::ReadOnly, Profile::Workspace];

/// Reads a terminal to its end, which is an error.
fn read_all(spawned: Spawned) -> String {
    let Spawned { mut child, stdin, stdout, terminal, .. } = spawned;
    let reader = std::thread::spawn(move || {
        rustix::fs::fcntl_setfl(&stdout, OFlags::empty()).unwrap();
        let mut bytes = Vec::new();
        let ended = File::from(stdout).read_to_end(&mut bytes);
        assert_eq!(ended.unwrap_err().raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
        String::from_utf8_lossy(&bytes).replace("\r\n", "\n")
    });
    wait(&mut child);
    terminal.as_ref().unwrap().release();
    let text = reader.join().unwrap();
    drop((stdin, terminal));
    text
}

fn on_terminal(bench: &Bench, script: &str) -> Spawned {
    bench.spawner.spawn_on_terminal(&bench.policy, shell(script), SIZE).unwrap()
}

fn run(bench: &Bench, script: &str) -> String {
    read_all(on_terminal(bench, script))
}

fn python(bench: &Bench, program: &str) -> String {
    let program = format!("{PYTHON_CALL}{program}");
    let request = runner::spawn::SpawnRequest { argv: argv(&["python3", "-c", &program]), ..shell("") };
    read_all(bench.spawner.spawn_on_terminal(&bench.policy, request, SIZE).unwrap())
}

/// A command that waits for a line on its terminal and repeats it, once its terminal's path is known.
fn victim(bench: &Bench) -> (Spawned, String) {
    let spawned = on_terminal(bench, "tty >tty-of-victim; read line; echo got $line");
    let path = bench.workspace().join("tty-of-victim");
    let read = || std::fs::read_to_string(&path).unwrap_or_default().trim().to_owned();
    until("the victim has told its terminal", || !read().is_empty());
    (spawned, read())
}

fn type_line(spawned: &Spawned, line: &str) {
    let stdin: OwnedFd = spawned.stdin.as_ref().unwrap().try_clone().unwrap();
    File::from(stdin).write_all(line.as_bytes()).unwrap();
}

#[test]
fn a_terminal_is_its_users_alone_and_has_a_name() {
    for profile in CONFINED {
        let bench = Bench::new(profile);
        let text = run(&bench, "stat -c '%a %u' $(tty) && id -u && ps -o tty= -p $$");
        let lines: Vec<&str> = text.lines().collect();
        let [mode, user, shown] = lines.as_slice() else { panic!("{text}") };
        assert_eq!(*mode, format!("600 {user}"), "{profile}");
        assert!(shown.starts_with("pts/"), "{profile}: {shown}");
    }
}

#[test]
fn no_other_commands_terminal_can_be_opened() {
    let bench = Bench::new(Profile::Workspace);
    let own_root = bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE);
    let (victim, path) = victim(&bench);
    let attack = format!(
        "for path in {path} /dev/pts/[0-9]* /proc/{pid}/fd/0 /proc/[0-9]*/fd/[0-2] /proc/{pid}/root{path}; do
             test \"$(readlink -f $path)\" = \"$(readlink -f $(tty 2>/dev/null))\" && continue
             (echo typed >$path) 2>/dev/null && echo reached $path
         done; ls -1 /dev/pts; echo done",
        pid = victim.child.pid()
    );
    // From a command with a separate terminal, and from one without.
    let text = run(&bench, &attack);
    let reached: Vec<&str> = text.lines().filter(|line| line.starts_with("reached /dev/pts")).collect();
    assert!(reached.is_empty() && text.ends_with("done\n"), "{text}");
    if own_root {
        assert_eq!(text, "0\nptmx\ndone\n", "each has terminals of its own");
    }
    let output = bench.run(&attack);
    assert!(!output.stdout.contains("reached /dev/pts"), "{}", output.stdout);
    assert!(output.stdout.ends_with("done\n"), "{}", output.stdout);
    type_line(&victim, "mine\n");
    let text = read_all(victim);
    assert_eq!(text, "mine\ngot mine\n", "no other command typed or wrote on it");
}

#[test]
fn a_terminal_cannot_be_typed_into_from_inside() {
    for profile in CONFINED {
        let bench = Bench::new(profile);
        let text = python(
            &bench,
            "import fcntl
for request in (0x5412, 0x541C, 0x5423):
    try:
        fcntl.ioctl(0, request, b'x')
        print('done', hex(request))
    except OSError as error:
        print(error.errno)
",
        );
        assert_eq!(text, "1\n1\n1\n", "TIOCSTI, TIOCLINUX, TIOCSETD: {profile}");
    }
}

#[test]
fn the_terminal_of_whoever_asks_is_none_without_one() {
    let bench = Bench::new(Profile::Workspace);
    let output = bench.run("echo x >/dev/tty");
    assert!(output.stderr.contains("No such device or address"), "{}", output.stderr);
    assert_eq!(run(&bench, "echo x >/dev/tty"), "x\n");
    assert!(!bench.run("setsid sh -c 'exec 3<>/dev/ptmx'").succeeded());
}

#[test]
fn programs_in_a_terminal_open_more_of_their_own() {
    let bench = Bench::new(Profile::Workspace);
    if !bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        return;
    }
    let text = run(&bench, "script -qec tty /dev/null </dev/null");
    assert_eq!(text.trim(), "/dev/pts/1");
    let limit = "
import pty
count = 0
try:
    while count < 1000:
        pty.openpty()
        count += 1
except OSError:
    print('limited', 0 < count < 300)
";
    assert_eq!(python(&bench, limit), "limited True\n");
}

#[test]
fn a_command_with_a_terminal_is_confined_like_all_others() {
    for profile in CONFINED {
        let bench = Bench::new(profile);
        std::fs::write(bench.outside("secret"), "SECRET").unwrap();
        let outside = bench.outside("secret");
        let script = format!(
            "cat {0}; cat /etc/shadow; echo x >{0}; echo x >/usr/made; echo x >file && echo wrote; \
             echo home >~/kept; unshare -m true; echo limits; ulimit -R",
            outside.display()
        );
        let text = run(&bench, &script);
        assert!(!text.contains("SECRET") && !text.contains("root:"), "{text}");
        assert_eq!(text.contains("wrote"), profile == Profile::Workspace, "{text}");
        assert_eq!(std::fs::read_to_string(&outside).unwrap(), "SECRET");
        assert!(bench.run("cat ~/kept").stdout == "home\n", "one home for all");
        let number = bench.errno_of(libc::SYS_setns, "0, 0");
        let program = format!("print(call({}, 0, 0))", libc::SYS_setns);
        assert_eq!(python(&bench, &program), format!("{number}\n"));
    }
}

#[test]
fn temporary_files_are_shared_with_commands_without_a_terminal() {
    let bench = Bench::new(Profile::Workspace);
    assert!(bench.run("echo shared >/tmp/there; echo memory >/dev/shm/there").succeeded());
    assert_eq!(run(&bench, "cat /tmp/there /dev/shm/there; rm /tmp/there"), "shared\nmemory\n");
    if bench.spawner.report().holds(layer_name::MOUNT_NAMESPACE) {
        assert!(bench.run("test ! -e /tmp/there").succeeded());
    }
}

#[test]
fn the_runner_cannot_be_signalled_from_a_terminal() {
    let bench = Bench::new(Profile::Workspace);
    let own = std::process::id();
    let tasks: Vec<String> = std::fs::read_dir("/proc/self/task")
        .unwrap()
        .map(|task| task.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let text = run(
        &bench,
        &format!(
            "for pid in {own} {} -1; do kill -0 $pid 2>/dev/null && echo hit $pid; done; echo done",
            tasks.join(" ")
        ),
    );
    if bench.spawner.report().holds(layer_name::LANDLOCK_SCOPE) {
        assert_eq!(text, "done\n");
    }
}

#[test]
fn in_every_kill_tier_a_command_has_its_own_terminal_and_no_other() {
    if !is_root() {
        return;
    }
    let script = "terminal:until test -s other; do sleep 0.01; done
        look() { tty; stat -c %a $(tty); stty size; echo x >/dev/tty && echo x >$(tty) && echo x >/dev/stderr && echo own
            if test $(tty) != $(cat other); then (echo typed >$(cat other)) 2>/dev/null && echo reached; fi
            (for file in /proc/[0-9]*/fd/0; do test $(readlink $file) != $(tty) && echo typed >$file && echo reached; done) 2>/dev/null
            echo done; }
        look >seen";
    for who in [Who::Us, Who::Nobody, Who::WithoutAdmin] {
        let mut guarded = Guarded::start(script, who);
        assert_eq!(guarded.line()[0], "ready", "{who:?}");
        let path = guarded.directory.path().join("work/seen");
        let seen = || std::fs::read_to_string(&path).unwrap_or_default();
        until("the command has looked around", || seen().ends_with("done\n"));
        let seen = seen();
        let (terminal, rest) = seen.split_once('\n').unwrap();
        assert!(terminal.starts_with("/dev/pts/"), "{who:?}: {seen}");
        assert_eq!(rest, "600\n24 80\nown\ndone\n", "{who:?}: {seen}");
    }
}

#[test]
fn a_dropped_terminal_hangs_up_what_uses_it() {
    let bench = Bench::new(Profile::Workspace);
    let Spawned { mut child, stdin, stdout, terminal, .. } = on_terminal(&bench, "sleep 1000");
    let mark = child.mark();
    drop((stdin, stdout));
    drop::<Option<Terminal>>(terminal);
    wait(&mut child);
    until("the whole tree is gone", || kill::members(mark).is_empty());
}
