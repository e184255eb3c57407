/* One attack a call, in bare system calls: `probe NAME [ARGUMENT…]`.
 *
 * Exit code 0: it got through. 1: it was denied, or there was nobody to attack. 77: this kernel has nothing of the kind.
 * Nothing here harms a machine when it gets through: arguments are what the kernel refuses after it has looked who asks,
 * or settings are written as they were. Compiled without libraries to run anywhere, a container included. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/io_uring.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/rtnetlink.h>
#include <linux/sched.h>
#include <mqueue.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { THROUGH = 0, DENIED = 1, NOTHING_HERE = 77 };

static char **argument;

static long number(int index) { return argument[index] ? strtol(argument[index], NULL, 0) : 0; }

/* Whether a call did its work. */
static int done(long result) {
    if (result >= 0) return THROUGH;
    switch (errno) {
    case ENOSYS: case EAFNOSUPPORT: case EPROTONOSUPPORT: case ESOCKTNOSUPPORT: case ENODEV: case EIO: case EOPNOTSUPP:
        return NOTHING_HERE;
    default: return DENIED;
    }
}

/* Whether a call got past the question who asks: its arguments make no sense, which comes second. */
static int reached(long result) {
    if (result < 0 && errno != EPERM && errno != EACCES && errno != ENOSYS) return THROUGH;
    return done(result);
}

static long setting(const char *path, long otherwise) {
    char text[32] = {0};
    int file = open(path, O_RDONLY);
    if (file < 0) return otherwise;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    return length > 0 ? strtol(text, NULL, 10) : otherwise;
}

/* --- calls that reach the machine ------------------------------------------------------------------------------------ */

static int init_module(void) { return reached(syscall(SYS_init_module, NULL, 0, "")); }
static int delete_module(void) { return reached(syscall(SYS_delete_module, "no_such_module", O_NONBLOCK)); }
static int kexec(void) { return reached(syscall(SYS_kexec_load, 0L, 99L, NULL, 0xffffL)); }
static int restart(void) { return reached(syscall(SYS_reboot, 1, 2, 3, NULL)); }
static int swap(void) { return reached(syscall(SYS_swapon, "/nonexistent", 0)); }
static int account(void) { return reached(syscall(SYS_acct, "/nonexistent/file")); }
static int set_clock(void) { return done(syscall(SYS_settimeofday, NULL, NULL)); }
static int kernel_log(void) { return done(syscall(SYS_syslog, 9, NULL, 0)); }
static int handle(void) {
    struct { struct file_handle head; unsigned char data[128]; } place = {.head = {.handle_bytes = 128}};
    int mount;
    if (syscall(SYS_name_to_handle_at, AT_FDCWD, ".", &place, &mount, 0) < 0) return NOTHING_HERE;
    int near = open(".", O_RDONLY | O_DIRECTORY);
    return done(syscall(SYS_open_by_handle_at, near, &place, O_RDONLY));
}
static int host_name(void) {
    char name[256];
    return gethostname(name, sizeof name) < 0 ? DENIED : done(syscall(SYS_sethostname, name, strlen(name)));
}
static int ports(void) {
#ifdef SYS_iopl
    return done(syscall(SYS_iopl, 3));
#else
    return NOTHING_HERE;
#endif
}

/* --- kernel parts that commands have no use for ---------------------------------------------------------------------- */

static int use_bpf(void) {
    union bpf_attr map = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
    return done(syscall(SYS_bpf, BPF_MAP_CREATE, &map, sizeof map));
}
static int perf(void) {
    if (geteuid() != 0 && setting("/proc/sys/kernel/perf_event_paranoid", 2) > 2) return NOTHING_HERE;
    struct perf_event_attr event = {.type = PERF_TYPE_SOFTWARE, .size = sizeof event, .config = PERF_COUNT_SW_TASK_CLOCK,
                                    .exclude_kernel = 1, .exclude_hv = 1};
    return done(syscall(SYS_perf_event_open, &event, 0, -1, -1, 0));
}
static int fault_handler(void) { return done(syscall(SYS_userfaultfd, 1 /* UFFD_USER_MODE_ONLY */)); }
static int ring(void) {
    if (setting("/proc/sys/kernel/io_uring_disabled", 0) != 0) return NOTHING_HERE;
    struct io_uring_params parameters = {0};
    return done(syscall(SYS_io_uring_setup, 1, &parameters));
}
static int fanotify(void) { return done(syscall(SYS_fanotify_init, 4 /* FAN_CLASS_CONTENT */, O_RDONLY)); }
static int add_key(void) { return done(syscall(SYS_add_key, "user", "sandbridge-attack", "x", 1, -2)); }
static int plant_key(void) { return done(syscall(SYS_add_key, "user", argument[0], "treasure", 8, -4)); }
static int steal_key(void) {
    char secret[8];
    long key = syscall(SYS_keyctl, 10 /* SEARCH */, -4, "user", argument[0], 0);
    return key < 0 ? done(key) : done(syscall(SYS_keyctl, 11 /* READ */, key, secret, sizeof secret));
}
static int remove_key(void) {
    long key = syscall(SYS_keyctl, 10, -4, "user", argument[0], 0);
    return done(syscall(SYS_keyctl, 9 /* UNLINK */, key, -4));
}
static int old_calls(void) {
#ifdef __x86_64__
    pid_t child = fork();
    if (child == 0) {
        long result;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20L) : "memory");
        _exit(result > 0 ? THROUGH : DENIED);
    }
    int status;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGSEGV ? NOTHING_HERE : DENIED;
    return WEXITSTATUS(status);
#else
    return NOTHING_HERE;
#endif
}
static int x32_calls(void) {
#ifdef __x86_64__
    return done(syscall(0x40000000 + SYS_getpid));
#else
    return NOTHING_HERE;
#endif
}
static int ask_socket(void) { return done(socket(number(0), number(1), htons(number(2)))); }
static int change_link(void) {
    struct { struct nlmsghdr head; struct ifinfomsg link; } request = {
        .head = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_NEWLINK, .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK},
        .link = {.ifi_family = AF_UNSPEC, .ifi_index = 1, .ifi_flags = IFF_UP, .ifi_change = IFF_UP}};
    struct { struct nlmsghdr head; struct nlmsgerr error; char rest[256]; } answer;
    int link = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    if (link < 0 || send(link, &request, sizeof request, 0) < 0 || recv(link, &answer, sizeof answer, 0) < 0) return DENIED;
    return answer.head.nlmsg_type == NLMSG_ERROR && answer.error.error == 0 ? THROUGH : DENIED;
}

/* --- namespaces and mounts ------------------------------------------------------------------------------------------- */

static int mount_here(void) {
    int result = done(mount("none", ".", "tmpfs", 0, NULL));
    if (result == THROUGH) umount2(".", MNT_DETACH);
    return result;
}
static int new_mount(void) { return done(syscall(SYS_fsopen, "tmpfs", 0)); }
static int clone_mount(void) { return done(syscall(SYS_open_tree, AT_FDCWD, "/", 1 | 0x8000)); }
static int pivot(void) { return reached(syscall(SYS_pivot_root, ".", ".")); }
static int change_root(void) { return done(chroot(".")); }
static int leave(void) { return done(unshare(number(0))); }
static int clone_into(void) {
    long child = syscall(SYS_clone, number(0) | SIGCHLD, NULL, NULL, NULL, NULL);
    if (child == 0) _exit(0);
    return done(child);
}
static int clone3_into(void) {
    struct clone_args arguments = {.flags = number(0), .exit_signal = SIGCHLD};
    long child = syscall(SYS_clone3, &arguments, sizeof arguments);
    if (child == 0) _exit(0);
    return done(child);
}
static int join(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s/ns/%s", argument[0], argument[1]);
    int space = open(path, O_RDONLY);
    if (space < 0) return DENIED;
    return unshare(CLONE_FS) < 0 ? DENIED : done(setns(space, 0));
}

/* --- other processes: any of the numbers given ----------------------------------------------------------------------- */

static int any(int (*attack)(pid_t)) {
    for (int index = 0; argument[index]; index++)
        if (attack(number(index)) == THROUGH) return THROUGH;
    return DENIED;
}
static int kill_one(pid_t pid) { return done(kill(pid, 0)); }
static int kill_any(void) { return any(kill_one); }
static int kill_thread_one(pid_t pid) { return done(syscall(SYS_tkill, pid, 0)); }
static int kill_thread(void) { return any(kill_thread_one); }
static int kill_really(void) { return done(kill(number(0), SIGKILL)); }
static int kill_directory(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%s", argument[0]);
    int process = open(path, O_RDONLY | O_DIRECTORY);
    return process < 0 ? DENIED : done(syscall(SYS_pidfd_send_signal, process, 0, NULL, 0));
}
static int trace_one(pid_t pid) { return done(ptrace(PTRACE_SEIZE, pid, NULL, NULL)); }
static int trace(void) { return any(trace_one); }
static int read_one(pid_t pid) {
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)8, 1};
    long result = syscall(SYS_process_vm_readv, pid, &here, 1L, &there, 1L, 0L);
    return result < 0 && errno == EFAULT ? THROUGH : done(result);
}
static int read_memory(void) { return any(read_one); }
static int compare_one(pid_t pid) { return done(syscall(SYS_kcmp, getpid(), pid, 1 /* KCMP_VM */, 0, 0)); }
static int compare(void) { return any(compare_one); }
static int take_descriptor(void) {
    int process = syscall(SYS_pidfd_open, number(0), 0);
    return process < 0 ? DENIED : done(syscall(SYS_pidfd_getfd, process, 1, 0));
}
static int limit(void) {
    struct rlimit old;
    if (prlimit(number(0), RLIMIT_NOFILE, NULL, &old) < 0) return DENIED;
    return done(prlimit(number(0), RLIMIT_NOFILE, &old, NULL));
}
static int pin(void) {
    unsigned char processors[128];
    long length = syscall(SYS_sched_getaffinity, number(0), sizeof processors, processors);
    return length < 0 ? DENIED : done(syscall(SYS_sched_setaffinity, number(0), length, processors));
}
static int slow(void) {
    errno = 0;
    int nice = getpriority(PRIO_PROCESS, number(0));
    return errno ? DENIED : done(setpriority(PRIO_PROCESS, number(0), nice));
}

/* --- terminals, sockets, files, shared objects ----------------------------------------------------------------------- */

static int type_into(void) {
    int terminal = open(argument[0], O_RDWR | O_NOCTTY);
    return terminal < 0 ? DENIED : done(ioctl(terminal, TIOCSTI, "x"));
}
static int terminal_request(void) { return reached(ioctl(STDIN_FILENO, number(0), "")); }
static int connect_to(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, argument[0], sizeof address.sun_path - 1);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + strlen(argument[0]);
    if (address.sun_path[0] == '@') address.sun_path[0] = 0;
    else length += 1;
    return done(connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&address, length));
}
static int make_device(void) {
    mode_t kind = argument[0][0] == 'b' ? S_IFBLK : S_IFCHR;
    unlink(argument[3]);
    return done(mknod(argument[3], kind | 0600, makedev(number(1), number(2))));
}
static int make_and_open(void) {
    int result = make_device();
    return result == THROUGH ? done(open(argument[3], O_RDWR)) : result;
}
static int give_capability(void) {
    struct vfs_cap_data all = {.magic_etc = VFS_CAP_REVISION_2 | VFS_CAP_FLAGS_EFFECTIVE, .data = {{1U << CAP_SYS_ADMIN, 0}}};
    return done(setxattr(argument[0], "security.capability", &all, XATTR_CAPS_SZ_2, 0));
}
static int make_set_user_id(void) { return done(chmod(argument[0], 04755)); }
static int elevated(void) {
    struct statvfs own;
    if (geteuid() != getuid()) return THROUGH;
    return statvfs("/proc/self/exe", &own) == 0 && own.f_flag & ST_NOSUID ? NOTHING_HERE : DENIED;
}
static int watch(void) { return done(inotify_add_watch(inotify_init1(0), argument[0], IN_ALL_EVENTS)); }
static int change_mark(void) {
    struct rlimit mark;
    getrlimit(RLIMIT_RTTIME, &mark);
    mark.rlim_cur = mark.rlim_max = mark.rlim_max / 2;
    return done(setrlimit(RLIMIT_RTTIME, &mark));
}
static int plant_memory(void) {
    int segment = shmget(number(0), 4096, IPC_CREAT | 0600);
    char *memory = segment < 0 ? (void *)-1 : shmat(segment, NULL, 0);
    return memory == (void *)-1 ? DENIED : (strcpy(memory, "treasure"), THROUGH);
}
static int steal_memory(void) {
    int segment = shmget(number(0), 0, 0);
    char *memory = segment < 0 ? (void *)-1 : shmat(segment, NULL, SHM_RDONLY);
    return memory != (void *)-1 && strcmp(memory, "treasure") == 0 ? THROUGH : DENIED;
}
static int remove_memory(void) { return done(shmctl(shmget(number(0), 0, 0), IPC_RMID, NULL)); }
static int plant_queue(void) { return done(mq_open(argument[0], O_CREAT | O_RDWR, 0600, NULL)); }
static int steal_queue(void) { return done(mq_open(argument[0], O_RDWR)); }
static int remove_queue(void) { return done(mq_unlink(argument[0])); }

/* --- what outlives its command: writes `FILE` again and again until `stop` is there, half a minute at most -------------- */

static const char *beat_file;
static void *beat(void *forks) {
    for (int turn = 0; turn < 1500 && access("stop", F_OK) < 0; turn++) {
        close(open(beat_file, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
        usleep(20000);
        if (forks && fork() > 0) _exit(0);
    }
    _exit(0);
}
static int outlive(void) {
    const char *kind = argument[0];
    beat_file = argument[1];
    if (fork() > 0) return THROUGH;
    setsid();
    if (!strcmp(kind, "reaper")) prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (fork() > 0 && strcmp(kind, "reaper")) _exit(0);
    for (int descriptor = 0; descriptor < 3; descriptor++) close(descriptor);
    if (!strcmp(kind, "deaf")) for (int signal_number = 1; signal_number < 64; signal_number++) signal(signal_number, SIG_IGN);
    if (!strcmp(kind, "closed")) prctl(PR_SET_DUMPABLE, 0);
    if (!strcmp(kind, "parent")) prctl(PR_SET_PDEATHSIG, 0);
    if (!strcmp(kind, "named")) prctl(PR_SET_NAME, ") Z 1 1 1");
    if (!strcmp(kind, "marked")) change_mark();
    if (!strcmp(kind, "other") && setuid(61235) < 0) _exit(1);
    if (!strcmp(kind, "headless")) {
        pthread_t thread;
        pthread_create(&thread, NULL, beat, NULL);
        pthread_exit(NULL);
    }
    beat(strcmp(kind, "forking") ? NULL : (void *)beat_file);
    return THROUGH;
}

static const struct { const char *name; int (*attack)(void); } ATTACKS[] = {
    {"init-module", init_module}, {"delete-module", delete_module}, {"kexec", kexec}, {"restart", restart}, {"swap", swap},
    {"account", account}, {"set-clock", set_clock}, {"kernel-log", kernel_log}, {"handle", handle}, {"host-name", host_name},
    {"ports", ports}, {"bpf", use_bpf}, {"perf", perf}, {"fault-handler", fault_handler}, {"ring", ring},
    {"fanotify", fanotify}, {"add-key", add_key}, {"plant-key", plant_key}, {"steal-key", steal_key},
    {"remove-key", remove_key}, {"old-calls", old_calls}, {"x32-calls", x32_calls}, {"socket", ask_socket},
    {"change-link", change_link}, {"mount", mount_here}, {"new-mount", new_mount}, {"clone-mount", clone_mount},
    {"pivot", pivot}, {"change-root", change_root}, {"leave", leave}, {"clone", clone_into}, {"clone3", clone3_into},
    {"join", join}, {"kill", kill_any}, {"kill-thread", kill_thread}, {"kill-really", kill_really},
    {"kill-directory", kill_directory}, {"trace", trace}, {"read-memory", read_memory}, {"compare", compare},
    {"take-descriptor", take_descriptor}, {"limit", limit}, {"pin", pin}, {"slow", slow}, {"type-into", type_into},
    {"terminal-request", terminal_request}, {"connect", connect_to}, {"make-device", make_device},
    {"make-and-open", make_and_open}, {"give-capability", give_capability}, {"make-set-user-id", make_set_user_id},
    {"elevated", elevated}, {"watch", watch}, {"change-mark", change_mark}, {"plant-memory", plant_memory},
    {"steal-memory", steal_memory}, {"remove-memory", remove_memory}, {"plant-queue", plant_queue},
    {"steal-queue", steal_queue}, {"remove-queue", remove_queue}, {"outlive", outlive},
};

int main(int count, char **words) {
    static char *none[] = {NULL};
    argument = count > 2 ? words + 2 : none;
    for (size_t index = 0; index < sizeof ATTACKS / sizeof *ATTACKS; index++)
        if (count > 1 && !strcmp(words[1], ATTACKS[index].name)) return ATTACKS[index].attack();
    fprintf(stderr, "probe: no such attack\n");
    return 2;
}
