//! A child that borrows this process's memory and is born into a control group: `clone3`, which no C library wraps.

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

use super::MarkKey;

/// Birth in the given group; `libc` lacks this flag.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The steps of a child until its program runs.
pub(super) type Life = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Starts `life` as `clone` with these flags does, in `group`, and returns the child's pid. The kernel puts the number of its handle into `handle`,
/// and clears `borrowed` when it has its own memory, or has ended.
///
/// # Safety
/// As for `clone`: `stack` ends at an aligned address that no other code uses, and `argument` is what `life` takes. Both, and
/// `borrowed`, stay until that is cleared.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
#[expect(
    clippy::too_many_arguments,
    reason = "as the call has them; a structure of them would be filled for it alone"
)]
pub(super) unsafe fn into_group(
    life: Life,
    stack: *mut [MaybeUninit<u128>],
    argument: *mut c_void,
    flags: c_int,
    handle: *mut RawFd,
    borrowed: *mut u32,
    group: BorrowedFd<'_>,
    key: MarkKey,
) -> io::Result<libc::pid_t> {
    let number = |value: c_int| u64::from(value.cast_unsigned());
    let arguments = libc::clone_args {
        flags: number(flags) | CLONE_INTO_CGROUP,
        pidfd: handle as u64,
        child_tid: borrowed as u64,
        parent_tid: 0,
        exit_signal: number(libc::SIGCHLD),
        stack: stack.cast::<u8>() as u64,
        stack_size: (stack.len() * size_of::<u128>()) as u64,
        tls: 0,
        set_tid: 0,
        set_tid_size: 0,
        cgroup: number(group.as_raw_fd()),
    };
    let result: i64;
    // SAFETY: `arguments` lives through the call with its true size given, and registers that the call changes are declared. The
    // child comes out of it on an empty stack, so it cannot return from here: only `life` runs in it, with its stack aligned as
    // the convention has it before a call, and it ends. The kernel ignores the two words of `key`. The caller vouches for the rest.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r13",
            "call r12",
            "mov edi, eax",
            "mov eax, {exit}",
            "syscall",
            "ud2",
            "2:",
            exit = const libc::SYS_exit,
            inlateout("rax") libc::SYS_clone3 => result,
            in("rdi") &raw const arguments,
            in("rsi") size_of::<libc::clone_args>(),
            in("r8") key[0],
            in("r9") key[1],
            in("r12") life,
            in("r13") argument,
            lateout("rcx") _,
            lateout("r11") _,
        );
        #[cfg(target_arch = "aarch64")]
        std::arch::asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, {argument}",
            "blr {life}",
            "mov x8, {exit}",
            "svc 0",
            "brk 1",
            "2:",
            exit = const libc::SYS_exit,
            life = in(reg) life,
            argument = in(reg) argument,
            in("x8") libc::SYS_clone3,
            inlateout("x0") &raw const arguments => result,
            in("x1") size_of::<libc::clone_args>(),
            in("x4") key[0],
            in("x5") key[1],
        );
    }
    if result < 0 {
        return Err(io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(libc::EINVAL)));
    }
    i32::try_from(result).map_err(io::Error::other)
}

/// Other machines have groups of the first version only, as far as this is concerned.
///
/// # Safety
/// Always sound: it only returns an error.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
#[expect(clippy::too_many_arguments, reason = "as above")]
pub(super) unsafe fn into_group(
    _: Life,
    _: *mut [MaybeUninit<u128>],
    _: *mut c_void,
    _: c_int,
    _: *mut RawFd,
    _: *mut u32,
    _: BorrowedFd<'_>,
    _: MarkKey,
) -> io::Result<libc::pid_t> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}
