//! The calls and arguments that the filter refuses, by reason.

/// Calls that are refused with any arguments, by what they would reach.
///
/// Not among them: `name_to_handle_at`, which is of no use without `open_by_handle_at`; `memfd_secret`, whose memory counts like
/// any other that is locked; `fanotify_mark` and the like, which need a descriptor that cannot be obtained.
pub(super) const REFUSED: &[(&str, &[i64])] = &[
    (
        "memory and descriptors of other processes",
        &[
            libc::SYS_ptrace,
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_process_mrelease,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
        ],
    ),
    (
        "mounts, roots and namespaces",
        &[
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
            OPEN_TREE_ATTR,
            libc::SYS_mount_setattr,
        ],
    ),
    (
        "parts of the kernel that ordinary commands do not need and that were often exploited",
        &[
            libc::SYS_bpf,
            libc::SYS_perf_event_open,
            libc::SYS_userfaultfd,
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
            libc::SYS_fanotify_init,
            libc::SYS_lookup_dcookie,
            libc::SYS_nfsservctl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_uselib,
            #[cfg(target_arch = "x86_64")]
            libc::SYS__sysctl,
        ],
    ),
    ("files opened by a handle instead of a path", &[libc::SYS_open_by_handle_at]),
    (
        "the kernel's keyrings, which have no namespaces",
        &[libc::SYS_keyctl, libc::SYS_add_key, libc::SYS_request_key],
    ),
    (
        "the kernel's own code",
        &[
            libc::SYS_init_module,
            libc::SYS_finit_module,
            libc::SYS_delete_module,
            libc::SYS_kexec_load,
            libc::SYS_kexec_file_load,
        ],
    ),
    (
        "the machine as a whole",
        &[
            libc::SYS_reboot,
            libc::SYS_swapon,
            libc::SYS_swapoff,
            libc::SYS_acct,
            libc::SYS_quotactl,
            libc::SYS_quotactl_fd,
            libc::SYS_sethostname,
            libc::SYS_setdomainname,
            libc::SYS_syslog,
            libc::SYS_vhangup,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_iopl,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_ioperm,
        ],
    ),
    (
        "its clocks",
        &[libc::SYS_settimeofday, libc::SYS_clock_settime, libc::SYS_clock_adjtime, libc::SYS_adjtimex],
    ),
];

/// `open_tree_attr`, which has the same number everywhere.
const OPEN_TREE_ATTR: i64 = 467;

/// Namespaces a process could ask for with `clone` or `unshare`.
pub(super) const NAMESPACES: &[i32] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// The time namespace; only `unshare` can make one (in `clone` the bit belongs to the exit signal).
pub(super) const TIME_NAMESPACE: i32 = 0x80;

/// Terminal requests that type into a terminal or its console, or give it a line discipline: drivers that no command needs.
pub(super) const TERMINAL_REQUESTS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD];

/// Requests that set the receiver of a descriptor's signals in memory, where a filter cannot look.
pub(super) const OWNER_REQUESTS: &[u64] = &[0x8901, 0x8902];

/// The command of `fcntl` that sets the receiver of a descriptor's signals.
pub(super) const SET_OWNER: u64 = 8;

/// A second command of `fcntl` that sets this receiver, with the receiver's name in memory, where a filter cannot look.
pub(super) const SET_OWNER_EXTENDED: u64 = 15;

/// Calls whose first argument names the process (or thread, or group) they signal, open or reschedule.
pub(super) const PROCESS_FIRST: &[i64] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_tgkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];

/// Calls whose second argument names the process (or thread, or group) that they affect.
pub(super) const PROCESS_SECOND: &[i64] = &[libc::SYS_setpriority, libc::SYS_ioprio_set];

/// Objects that all processes in an IPC namespace share.
pub(super) const SHARED_OBJECTS: &[i64] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// `fchmodat2`, which has the same number everywhere.
const FCHMODAT2: i64 = 452;

/// Calls that set the mode of a file, and the argument the mode is in.
pub(super) const MODES: &[(i64, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (FCHMODAT2, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
    (libc::SYS_mknodat, 2),
];

/// Calls that set a mode when their flags create a file, and the positions of the flags and the mode.
pub(super) const OPENS: &[(i64, u8, u8)] = &[
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1, 2),
    (libc::SYS_openat, 2, 3),
];

/// The flags that create a file; without one of them the mode is an arbitrary register value.
pub(super) const MAKING_FLAGS: &[i32] = &[libc::O_CREAT, libc::O_TMPFILE & !libc::O_DIRECTORY];
