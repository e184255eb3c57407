//! The filter of system calls: it refuses those that no command needs, and those used in sandbox escapes.
//!
//! Refused calls fail with EPERM, as they do for an ordinary user, so programs use their normal fallbacks; `clone3` fails with ENOSYS, since its
//! flags are in memory where a filter cannot look, and every C library then uses `clone`. Only the runner, which has the key, starts commands with
//! it: in their control group.
//!
//! **The runner is out of reach.** Landlock's scope refuses signals to the runner's first thread. The thread that starts
//! commands, however, is in their Landlock domain, and a signal to any thread reaches the whole process; so every call
//! that can name a process refuses the numbers of the runner, of its threads, and of their groups ([`Untouchable`]).
//!
//! **Root leaves no set-user-id file** in a workspace that others can enter. The mode that `openat2` takes is in memory; but
//! without CAP_FSETID the kernel takes the bit from such a file as soon as something is written to it.

mod calls;
mod sockets;
#[cfg(test)]
pub(super) mod tests;
mod untouchable;

use std::collections::BTreeMap;
use std::io;

use seccompiler::{
    BackendError, BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, sock_filter,
};

use crate::bounds::Network;
use crate::layers::{LayerReport, layer_name};
use crate::sys::{MARK_KEY_ARGUMENT, MarkKey};
pub(super) use untouchable::Untouchable;

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
const RETURN_ALLOW: u32 = 0x7fff_0000;

// The offsets at which the filter finds the number of the call and its arguments, in bytes.
const NUMBER_AT: u32 = 0;
const ARGUMENTS_AT: u32 = 16;
const WORD: u32 = 8;
const HALF_WORD: u32 = 4;

/// The inputs of one spawner's filter.
pub(super) struct Filter<'a> {
    /// Lets the spawner mark and signal the processes it starts.
    pub(super) key: MarkKey,
    /// True if commands see no process but their own.
    pub(super) hides_others: bool,
    /// The System V IPC objects and message queues that commands would use.
    pub(super) ipc: Ipc,
    /// The processes that must not be signalled.
    pub(super) runner: Untouchable,
    /// The sockets that may be created.
    pub(super) network: &'a Network,
}

/// The System V IPC objects and POSIX message queues that commands use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ipc {
    /// The spawner's own objects.
    Own,
    /// The container's objects; the container exists for these commands alone.
    OfContainer,
    /// No objects, since they would be the machine's.
    Refused,
}

impl Ipc {
    pub(super) fn describe(self) -> &'static str {
        match self {
            Self::Own => "own System V IPC and message queues",
            Self::OfContainer => "the container's System V IPC and message queues",
            Self::Refused => "System V IPC and message queues refused",
        }
    }
}

/// Installs the filter on the calling thread, and reports it.
///
/// # Errors
/// The kernel has filters and did not accept this one.
pub(super) fn install(filter: &Filter<'_>, report: &mut LayerReport) -> io::Result<()> {
    let program = program(filter).map_err(io::Error::other)?;
    match seccompiler::apply_filter(&program) {
        Ok(()) => {
            let detail = format!("{} instructions; {}", program.len(), filter.ipc.describe());
            report.add(layer_name::SECCOMP, true, detail);
            Ok(())
        }
        Err(Error::Prctl(error) | Error::Seccomp(error)) if is_lack(&error) => {
            report.add(layer_name::SECCOMP, false, error.to_string());
            Ok(())
        }
        Err(error) => Err(io::Error::other(error)),
    }
}

/// True if an error means that the kernel was built without filters.
fn is_lack(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS))
}

fn program(filter: &Filter<'_>) -> Result<BpfProgram, BackendError> {
    let key = filter.key;
    let filter = SeccompFilter::new(
        rules(filter)?,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        std::env::consts::ARCH.try_into()?,
    )?;
    let mut program = not_implemented(key);
    program.extend(BpfProgram::try_from(filter)?);
    Ok(program)
}

/// The start of the filter: calls that appear as not implemented, `clone3` except with the key.
fn not_implemented(key: MarkKey) -> BpfProgram {
    let statement = |code, k| sock_filter { code, jt: 0, jf: 0, k };
    let answer = statement(BPF_RETURN, RETURN_ERRNO | libc::ENOSYS.cast_unsigned());
    let clone3 = u32::try_from(libc::SYS_clone3).unwrap_or(u32::MAX);
    let halves: Vec<(u32, u32)> = (ARGUMENTS_AT + WORD * u32::from(MARK_KEY_ARGUMENT)..)
        .step_by(HALF_WORD as usize)
        .zip(key.into_iter().flat_map(|word| [word as u32, (word >> u32::BITS) as u32]))
        .collect();
    // After the jump: two statements for each half, and the two returns.
    let checks = u8::try_from(2 * halves.len()).unwrap_or(u8::MAX);
    let mut program = vec![
        statement(BPF_LOAD_WORD, NUMBER_AT),
        sock_filter { code: BPF_JUMP_EQUAL, jt: 0, jf: checks + 2, k: clone3 },
    ];
    for (index, (at, half)) in (0_u8..).zip(halves) {
        let to_answer = checks - 2 * index - 1;
        program.extend([
            statement(BPF_LOAD_WORD, at),
            sock_filter { code: BPF_JUMP_EQUAL, jt: 0, jf: to_answer, k: half },
        ]);
    }
    program.extend([statement(BPF_RETURN, RETURN_ALLOW), answer.clone()]);
    #[cfg(target_arch = "x86_64")]
    program.extend([sock_filter { code: BPF_JUMP_AT_LEAST, jt: 0, jf: 1, k: X32_CALLS }, answer]);
    program
}

/// The refused calls: one without rules always, another when one of its rules holds.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn rules(filter: &Filter<'_>) -> Result<Rules, BackendError> {
    let refused = calls::REFUSED.iter().flat_map(|(_, numbers)| *numbers);
    let mut rules: Rules = refused.map(|number| (*number, Vec::new())).collect();
    let bit = |bit: i32| all(&[masked(0, u64::from(bit.cast_unsigned()))?]);
    let namespaces: Vec<_> = calls::NAMESPACES.iter().map(|flag| bit(*flag)).collect::<Result<_, _>>()?;
    rules.insert(libc::SYS_clone, namespaces.clone());
    rules.insert(libc::SYS_unshare, namespaces.into_iter().chain([bit(calls::TIME_NAMESPACE)?]).collect());
    sockets::restrict(filter.network, &mut rules)?;
    let request = |request: &u64| all(&[equal(1, *request)?]);
    let requests = calls::TERMINAL_REQUESTS.iter().chain(calls::OWNER_REQUESTS);
    rules.insert(libc::SYS_ioctl, requests.map(request).collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_prlimit64, limit_rules(filter.key)?);
    rules.insert(libc::SYS_setrlimit, vec![all(&[equal(0, u64::from(libc::RLIMIT_RTTIME))?])?]);
    filter.runner.protect(&mut rules)?;
    if !filter.hides_others {
        // A directory of `/proc` is equivalent to a handle, and is opened by its name alone.
        rules.insert(libc::SYS_pidfd_send_signal, without_key(filter.key, &[])?);
    }
    if filter.ipc == Ipc::Refused {
        rules.extend(calls::SHARED_OBJECTS.iter().map(|number| (*number, Vec::new())));
    }
    if rustix::process::geteuid().is_root() {
        refuse_set_user_id(&mut rules)?;
    }
    Ok(rules)
}

/// `prlimit64` may read any limit and set the caller's own, except the one that carries the exec's mark: that requires the
/// key.
fn limit_rules(key: MarkKey) -> Result<Vec<SeccompRule>, BackendError> {
    let sets = condition(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    let of_another = condition(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let mark = equal(1, u64::from(libc::RLIMIT_RTTIME))?;
    let mut rules = without_key(key, &[mark, sets.clone()])?;
    rules.push(all(&[of_another, sets])?);
    Ok(rules)
}

/// The rules that apply when `conditions` hold and the call does not carry the key.
fn without_key(key: MarkKey, conditions: &[SeccompCondition]) -> Result<Vec<SeccompRule>, BackendError> {
    let word = |(argument, word)| {
        let wrong = condition(argument, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, word)?;
        all(&[conditions, &[wrong]].concat())
    };
    (MARK_KEY_ARGUMENT..).zip(key).map(word).collect()
}

fn refuse_set_user_id(rules: &mut Rules) -> Result<(), BackendError> {
    let mode = |argument| masked(argument, u64::from(libc::S_ISUID));
    for (number, argument) in calls::MODES {
        rules.insert(*number, vec![all(&[mode(*argument)?])?]);
    }
    for (number, flags, argument) in calls::OPENS {
        let making = |flag: &i32| all(&[masked(*flags, u64::from(flag.cast_unsigned()))?, mode(*argument)?]);
        rules.insert(*number, calls::MAKING_FLAGS.iter().map(making).collect::<Result<_, _>>()?);
    }
    Ok(())
}

fn all(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

fn equal(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn masked(argument: u8, bit: u64) -> Result<SeccompCondition, BackendError> {
    masked_equal(argument, bit, bit)
}

fn masked_equal(argument: u8, mask: u64, value: u64) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(mask), value)
}

fn condition(
    argument: u8,
    length: SeccompCmpArgLen,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, length, operator, value)
}
