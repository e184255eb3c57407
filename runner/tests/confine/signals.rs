//! No command can signal the runner: every call that can, on each of its threads, for any user it runs as.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

use crate::guardian::{Guarded, Who, first_child, is_root, nested};
use crate::support::{PYTHON_CALL, until};

/// Signals all threads of the runner in every possible way, and reports that it lived a second longer.
///
/// In a separate namespace it finds them; otherwise it waits for a file that names them, so as not to hurt others.
fn attack() -> String {
    let [kill, tkill, tgkill, queue, open, send] = [
        libc::SYS_kill,
        libc::SYS_tkill,
        libc::SYS_tgkill,
        libc::SYS_rt_sigqueueinfo,
        libc::SYS_pidfd_open,
        libc::SYS_pidfd_send_signal,
    ];
    let program = format!(
        "{PYTHON_CALL}
import fcntl, time
own = os.getpid()
runner = os.getppid()
alone = runner == 1
while not alone and not os.path.exists(\"threads\"):
    time.sleep(0.01)
threads = range(1, 65) if alone else [int(task) for task in open(\"threads\").read().split()]
threads = [task for task in threads if task != own]
for signal in (15, 9):
    for task in threads:
        call({kill}, task, signal)
        call({tkill}, task, signal)
        call({tgkill}, runner, task, signal)
        call({queue}, task, signal, bytes([signal, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255]) + bytes(116))
        for flags in (0, os.O_EXCL):
            handle = library.syscall({open}, task, flags)
            handle >= 0 and call({send}, handle, signal, 0, 0)
        try:
            handle = os.open(f\"/proc/{{task}}\", os.O_RDONLY)
            call({send}, handle, signal, 0, 0)
            os.close(handle)
        except OSError:
            pass
        reader, writer = os.pipe2(os.O_NONBLOCK)
        try:
            fcntl.fcntl(reader, 10, signal)
            fcntl.fcntl(reader, fcntl.F_SETOWN, task)
            fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
            os.write(writer, bytes(1))
        except OSError:
            pass
        os.close(reader), os.close(writer)
    call({kill}, -runner, signal)
    alone and call({kill}, -1, signal)
time.sleep(1)
open(\"survived\", \"w\").close()
time.sleep(60)
"
    );
    format!("exec python3 -c '{program}'")
}

/// Gives the attack the list of a runner's threads, all at once.
fn name_threads(runner: Pid, workspace: &Path) {
    let tasks = fs::read_dir(format!("/proc/{}/task", runner.as_raw_nonzero())).unwrap().flatten();
    let names: Vec<_> = tasks.map(|task| task.file_name().into_string().unwrap()).collect();
    assert!(names.len() > 1, "{names:?}");
    fs::write(workspace.join("named"), names.join(" ")).unwrap();
    fs::rename(workspace.join("named"), workspace.join("threads")).unwrap();
}

fn assert_runner_survives(who: Who) {
    let mut guarded = Guarded::start(&attack(), who);
    let words = guarded.line();
    assert!(who != Who::WithoutAdmin || words[2] == "subreaper", "{words:?}");
    let workspace = guarded.directory.path().join("work");
    name_threads(guarded.runner(), &workspace);
    let file = workspace.join("survived");
    until("the runner outlived the attack, and so did the command", || file.exists());
    assert!(guarded.guardian.try_wait().unwrap().is_none());
}

#[test]
fn a_command_cannot_signal_the_runner_in_any_way() {
    assert_runner_survives(Who::Us);
}

#[test]
fn a_command_without_privileges_cannot_signal_the_runner_either() {
    if is_root() {
        assert_runner_survives(Who::Nobody);
    }
}

#[test]
fn a_command_that_sees_the_machines_processes_cannot_signal_the_runner_either() {
    if is_root() {
        assert_runner_survives(Who::WithoutAdmin);
    }
}

#[test]
fn a_command_cannot_signal_a_runner_without_namespaces_either() {
    let mut nested = nested(&attack());
    let workspace = nested.bench.workspace().join("inner");
    name_threads(first_child(nested.spawned.child.pid()), &workspace);
    let file = workspace.join("survived");
    until("the runner outlived the attack, and so did the command", || file.exists());
    assert_eq!(nested.spawned.child.try_wait().unwrap(), None);
}
