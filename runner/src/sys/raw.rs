//! System calls that leave `errno` alone: it belongs to the thread whose memory a child borrows, and that thread goes on.

use std::ffi::{c_int, c_long};

/// Whether [`call`] leaves `errno` alone here; where it does not, nobody may go on beside a child that borrows its memory.
pub(super) const LEAVES_ERRNO: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The highest number of an error.
const ERRORS: isize = 4095;

/// Makes one system call; fails with the number of the error.
///
/// # Safety
/// The call must be sound with these arguments.
pub(super) unsafe fn call(number: c_long, arguments: [usize; 5]) -> Result<usize, c_int> {
    // SAFETY: the caller vouches for the call.
    let result = unsafe { enter(number, arguments) };
    if (-ERRORS..0).contains(&result) {
        return Err(c_int::try_from(-result).unwrap_or(libc::EINVAL));
    }
    Ok(result.cast_unsigned())
}

#[cfg(target_arch = "x86_64")]
unsafe fn enter(number: c_long, [first, second, third, fourth, fifth]: [usize; 5]) -> isize {
    let result: isize;
    // SAFETY: registers that the call changes are declared; the caller vouches for what it does to memory.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// As above.
#[cfg(target_arch = "aarch64")]
unsafe fn enter(number: c_long, [first, second, third, fourth, fifth]: [usize; 5]) -> isize {
    let result: isize;
    // SAFETY: as above.
    unsafe {
        std::arch::asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first.cast_signed() => result,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            options(nostack),
        );
    }
    result
}

/// Elsewhere by way of the C library, which says what went wrong in `errno`.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn enter(number: c_long, [first, second, third, fourth, fifth]: [usize; 5]) -> isize {
    // SAFETY: the caller vouches for the call; the C library keeps a thread's `errno` at this address.
    unsafe {
        match libc::syscall(number, first, second, third, fourth, fifth) {
            -1 => -isize::try_from(*libc::__errno_location()).unwrap_or(1),
            result => result as isize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_fails_says_why_and_leaves_errno_alone() {
        if !LEAVES_ERRNO {
            return;
        }
        // SAFETY: an address of this thread's own; then a number that is no open descriptor.
        let (failed, errno) = unsafe {
            *libc::__errno_location() = libc::EXDEV;
            (call(libc::SYS_fchdir, [usize::MAX, 0, 0, 0, 0]), *libc::__errno_location())
        };
        assert_eq!((failed, errno), (Err(libc::EBADF), libc::EXDEV));
    }

    #[test]
    fn a_call_that_succeeds_gives_what_the_kernel_gave() {
        // SAFETY: takes nothing.
        let own = unsafe { call(libc::SYS_getpid, [0; 5]) };
        assert_eq!(own, Ok(std::process::id() as usize));
    }
}
