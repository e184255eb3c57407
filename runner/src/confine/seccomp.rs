//! The filter of system calls: what no command needs and what sandboxes were escaped with.
//!
//! Refused calls fail with EPERM, as they do for an ordinary user, so programs take their usual fallbacks; `clone3` fails
//! with ENOSYS, since its flags are in memory where a filter cannot look, and every C library then uses `clone`.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    sock_filter,
};

use crate::sys::{MARK_KEY_ARGUMENT, MarkKey};

/// Calls that are refused whatever their arguments.
const REFUSED: &[i64] = &[
    // Other processes' memory and descriptors.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    // Kernel attack surface that no ordinary command needs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_fanotify_init,
    libc::SYS_open_by_handle_at,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // The machine itself.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
];

/// Namespaces a process could ask for with `clone` or `unshare`.
const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The time namespace; only `unshare` can make one (in `clone` the bit belongs to the exit signal).
const TIME_NAMESPACE: i32 = 0x80;

/// Socket families that reach hardware, the hypervisor or old kernel code.
const SOCKET_FAMILIES: &[i32] = &[
    libc::AF_PACKET,
    libc::AF_VSOCK,
    libc::AF_ALG,
    libc::AF_KEY,
    libc::AF_BLUETOOTH,
    libc::AF_RDS,
    libc::AF_TIPC,
];

/// Terminal requests that type into a terminal or its console.
const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX];

/// First number of the x32 calls, the second set of system calls of 64-bit x86 kernels.
#[cfg(target_arch = "x86_64")]
const X32_CALLS: u32 = 0x4000_0000;

// Classic BPF, and seccomp's return value, as <linux/filter.h> and <linux/seccomp.h> number them.
const BPF_LOAD_WORD: u16 = 0x20;
const BPF_JUMP_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const BPF_JUMP_AT_LEAST: u16 = 0x35;
const BPF_RETURN: u16 = 0x06;
const RETURN_ERRNO: u32 = 0x0005_0000;

/// Installs the filter on the calling thread; `key` lets the spawner mark what it starts.
pub(super) fn install(key: MarkKey) -> io::Result<String> {
    let program = program(key).map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)?;
    Ok(format!("{} instructions", program.len()))
}

fn program(key: MarkKey) -> Result<BpfProgram, seccompiler::BackendError> {
    let filter = SeccompFilter::new(
        rules(key)?,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program = not_implemented();
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

/// The start of the filter: calls that look as if the kernel did not have them.
fn not_implemented() -> BpfProgram {
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let answer = statement(BPF_RETURN, RETURN_ERRNO | libc::ENOSYS.cast_unsigned());
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    // Offset 0 of what the filter sees is the number of the call.
    let mut program = vec![
        statement(BPF_LOAD_WORD, 0),
        sock_filter { code: BPF_JUMP_EQUAL, jt: 0, jf: 1, k: clone3 },
        answer.clone(),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([sock_filter { code: BPF_JUMP_AT_LEAST, jt: 0, jf: 1, k: X32_CALLS }, answer]);
    program
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(key: MarkKey) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = REFUSED.iter().map(|number| (*number, Vec::new())).collect();
    let bit = |bit: i32| all(&[masked(0, u64::from(bit.cast_unsigned()))?]);
    let namespaces: Vec<_> = NAMESPACES.iter().map(|flag| bit(*flag)).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces.into_iter().chain([bit(TIME_NAMESPACE)?]).collect());
    let family = |family: &i32| all(&[equal(0, u64::from(family.cast_unsigned()))?]);
    rules.insert(libc::SYS_socket, SOCKET_FAMILIES.iter().map(family).collect::<Result<_, _>>()?);
    let terminal = |request: &u64| all(&[equal(1, *request)?]);
    rules.insert(libc::SYS_ioctl, TERMINAL_REQUESTS.iter().map(terminal).collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_prlimit64, limit_rules(key)?);
    rules.insert(libc::SYS_setrlimit, vec![all(&[equal(0, u64::from(libc::RLIMIT_RTTIME))?])?]);
    Ok(rules)
}

/// `prlimit64` may read any limit and set the caller's own, except the one that carries the exec's mark: that takes the key.
fn limit_rules(key: MarkKey) -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let sets = || condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0);
    let of_another = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let mut rules = vec![all(&[of_another, sets()?])?];
    for (index, word) in (MARK_KEY_ARGUMENT..).zip(key) {
        let wrong_key = condition(index, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, word)?;
        rules.push(all(&[equal(1, u64::from(libc::RLIMIT_RTTIME))?, sets()?, wrong_key])?);
    }
    Ok(rules)
}

fn all(conditions: &[SeccompCondition]) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, bit: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(bit), bit)
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}
