//! Every call of the table, made twice: without the filter, to show that it gets as far as the kernel, and under it.
//!
//! The second call is made by a process with all the privileges of the first: only the filter can refuse it. Where these
//! tests do not run as root, calls that need privileges are refused without the filter too, and prove nothing.

use std::collections::BTreeMap;
use std::process::Command;

use super::*;
use crate::bounds::Network;

/// Makes each call in a process with its own session; prints one errno per line, 0 for success.
const PROBE: &str = "
import ctypes, os, sys
os.setsid()
library = ctypes.CDLL(None, use_errno=True)
open('probe', 'w').close()
for line in sys.argv[1:]:
    number, arguments = line.split(' ', 1)
    ctypes.set_errno(0)
    result = library.syscall(int(number), *eval(arguments, {'k': ctypes.c_long}))
    if int(number) == CLONE and result == 0:
        os._exit(0)
    print(ctypes.get_errno() if result == -1 else 0, flush=True)
";

/// Arguments that do no harm where `0` would.
fn harmless(call: i64) -> &'static str {
    match call {
        libc::SYS_ptrace => "(16, k(-1), 0, 0)",
        libc::SYS_sethostname | libc::SYS_setdomainname => "(0, k(-1))",
        libc::SYS_kexec_load => "(0, 0, 0, k(-1))",
        libc::SYS_kexec_file_load => "(k(-1), k(-1), 0, 0, k(-1))",
        libc::SYS_acct => "(b'/nonexistent',)",
        libc::SYS_fanotify_init | libc::SYS_userfaultfd => "(k(-1), 0)",
        _ => "(0, 0, 0, 0, 0, 0)",
    }
}

/// Calls that are refused only with some arguments, each with such arguments.
fn conditional() -> Vec<(i64, String)> {
    let call = |number: i64, arguments: &str| (number, arguments.to_owned());
    vec![
        (libc::SYS_clone, format!("({}, 0, 0, 0, 0)", libc::CLONE_NEWUTS | libc::SIGCHLD)),
        (libc::SYS_unshare, format!("({},)", libc::CLONE_NEWUTS)),
        (libc::SYS_unshare, format!("({},)", libc::CLONE_NEWNS)),
        (libc::SYS_socket, format!("({}, 3, 0)", libc::AF_PACKET)),
        (libc::SYS_socket, format!("({}, 1, 0)", libc::AF_VSOCK)),
        (libc::SYS_socket, format!("({}, 5, 0)", libc::AF_ALG)),
        (libc::SYS_socket, format!("({}, 3, 16)", libc::AF_NETLINK)),
        call(libc::SYS_socketpair, "(2, 1, 0, 0)"),
        (libc::SYS_ioctl, format!("(0, {}, b'x')", libc::TIOCSTI)),
        (libc::SYS_ioctl, format!("(0, {}, b'x')", libc::TIOCLINUX)),
        (libc::SYS_ioctl, format!("(0, {}, b'x' * 4)", libc::TIOCSETD)),
        (libc::SYS_fcntl, format!("(0, {}, 0)", calls::SET_OWNER_EXTENDED)),
        (libc::SYS_setrlimit, format!("({}, b'\\xff' * 16)", libc::RLIMIT_RTTIME)),
        (libc::SYS_prlimit64, format!("(0, {}, b'\\xff' * 16, 0, 0, 0)", libc::RLIMIT_RTTIME)),
        call(libc::SYS_fchmodat, "(-100, b'probe', 0o4755)"),
        call(libc::SYS_mknodat, "(-100, b'made', 0o104755, 0)"),
        call(libc::SYS_openat, "(-100, b'opened', 0o102, 0o4755)"),
        #[cfg(target_arch = "x86_64")]
        call(libc::SYS_chmod, "(b'probe', 0o4755)"),
        call(libc::SYS_pidfd_send_signal, "(k(-1), 0, 0, 0, 0, 0)"),
        call(libc::SYS_shmget, "(0, 0, 0)"),
        call(libc::SYS_mq_unlink, "(b'none',)"),
    ]
}

fn probes() -> Vec<(i64, String)> {
    let always = calls::REFUSED.iter().flat_map(|(_, numbers)| *numbers);
    always.map(|number| (*number, harmless(*number).to_owned())).chain(conditional()).collect()
}

/// The outcome of each probe, in this thread's children.
fn outcomes(probes: &[(i64, String)]) -> Vec<i32> {
    let directory = tempfile::tempdir().unwrap();
    let program = PROBE.replace("CLONE", &libc::SYS_clone.to_string());
    let mut command = Command::new("python3");
    command.args(["-c", &program]).current_dir(directory.path()).stdin(std::process::Stdio::null());
    command.args(probes.iter().map(|(number, arguments)| format!("{number} {arguments}")));
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let outcomes: Vec<i32> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(outcomes.len(), probes.len(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    outcomes
}

/// Puts the calling thread under the filter alone.
pub(crate) fn install_filter_alone(key: MarkKey) {
    let network = Network::default();
    let runner = Untouchable::seen_from_here();
    let filter = Filter { key, hides_others: false, ipc: Ipc::Refused, runner, network: &network };
    rustix::thread::set_no_new_privs(true).unwrap();
    install(&filter, &mut LayerReport::default()).unwrap();
}

/// The outcomes under the filter alone.
fn filtered(probes: Vec<(i64, String)>) -> Vec<i32> {
    let confined = std::thread::spawn(move || {
        install_filter_alone([1, 2]);
        outcomes(&probes)
    });
    confined.join().unwrap()
}

#[test]
fn every_call_of_the_table_works_without_the_filter_and_none_under_it() {
    let probes = probes();
    let open = outcomes(&probes);
    let closed = filtered(probes.clone());
    let is_root = rustix::process::geteuid().is_root();
    let mut shown = 0;
    for (((call, arguments), open), closed) in probes.iter().zip(&open).zip(&closed) {
        assert_eq!(*closed, libc::EPERM, "call {call}{arguments} under the filter");
        assert!(!is_root || *open != libc::EPERM, "call {call}{arguments} without the filter");
        shown += usize::from(*open != libc::EPERM && *open != libc::ENOSYS);
    }
    assert!(
        !is_root || shown * 10 >= probes.len() * 8,
        "only {shown} of {} exist here: {open:?}",
        probes.len()
    );
}

#[test]
fn no_call_stands_in_the_table_twice() {
    let mut seen = BTreeMap::new();
    for (family, numbers) in calls::REFUSED {
        assert!(!family.is_empty());
        for number in *numbers {
            assert_eq!(seen.insert(*number, family), None, "call {number}");
        }
    }
}

#[test]
fn what_an_ordinary_command_asks_for_passes() {
    let network = Network::default();
    let runner = Untouchable::seen_from_here();
    let filter = Filter { key: [1, 2], hides_others: true, ipc: Ipc::Own, runner, network: &network };
    let rules = rules(&filter).unwrap();
    for call in [libc::SYS_execve, libc::SYS_openat2, libc::SYS_memfd_create, libc::SYS_name_to_handle_at] {
        assert!(!rules.contains_key(&call), "call {call}");
    }
    assert!(program(&filter).unwrap().len() < 4_096, "the kernel accepts no filter that is longer");
}
