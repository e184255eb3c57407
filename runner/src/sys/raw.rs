//! System calls that do not touch `errno`: it belongs to the thread whose memory a child borrows, and that thread continues to run.

use std::ffi::{c_int, c_long};

/// True if [`call`] does not touch `errno` here; otherwise no thread may run alongside a child that borrows its memory.
pub(super) const LEAVES_ERRNO: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The highest number of an error.
const ERRORS: isize = 4095;

/// Makes one system call; fails with the number of the error.
///
/// # Safety
/// The call must be sound with these arguments.
pub(super) unsafe fn call(number: c_long, arguments: [usize; 5]) -> Result<usize, c_int> {
    let [first, second, third, fourth, fifth] = arguments;
    let result: isize;
    // SAFETY: registers that the call changes are declared; the caller vouches for what it does to memory. Elsewhere the call goes
    // by way of the C library, which keeps a thread's `errno` at that address.
    unsafe {
        #[cfg(target_arch = "x86_64")]
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
        #[cfg(target_arch = "aarch64")]
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
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        {
            result = match libc::syscall(number, first, second, third, fourth, fifth) {
                -1 => -isize::try_from(*libc::__errno_location()).unwrap_or(1),
                result => result as isize,
            };
        }
    }
    if (-ERRORS..0).contains(&result) {
        return Err(c_int::try_from(-result).unwrap_or(libc::EINVAL));
    }
    Ok(result.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use nix::errno::Errno;

    use super::*;

    fn call_with(number: c_long, first: usize) -> Result<usize, c_int> {
        assert!([libc::SYS_fchdir, libc::SYS_getpid].contains(&number));
        // SAFETY: these calls take a number or nothing, and touch no memory.
        unsafe { call(number, [first, 0, 0, 0, 0]) }
    }

    #[test]
    fn a_call_that_fails_says_why_and_leaves_errno_alone() {
        if !LEAVES_ERRNO {
            return;
        }
        Errno::EXDEV.set();
        let failed = call_with(libc::SYS_fchdir, usize::MAX);
        assert_eq!((failed, Errno::last()), (Err(libc::EBADF), Errno::EXDEV));
    }

    #[test]
    fn a_call_that_succeeds_gives_what_the_kernel_gave() {
        assert_eq!(call_with(libc::SYS_getpid, 0), Ok(std::process::id() as usize));
    }
}
