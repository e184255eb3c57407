//! The attacks, and the sets of layers that stop each of them.
//!
//! A **way** is a set of layers, any one of which stops the attack on that way: the attack gets through when all layers of one of its ways are
//! missing, and not before. The runs compare this prediction with the actual results, whatever layers are left out. So if each way of an attack has
//! two layers, the runs prove that either layer alone stops the attack.

/// The layers, by their names in reports.
pub(super) mod layer {
    pub(crate) const MOUNTS: &str = "mount-namespace";
    pub(crate) const PIDS: &str = "pid-namespace";
    pub(crate) const IPC: &str = "ipc-namespace";
    pub(crate) const LANDLOCK: &str = "landlock";
    pub(crate) const SCOPE: &str = "landlock-scope";
    pub(crate) const SECCOMP: &str = "seccomp";
    pub(crate) const CAPABILITIES: &str = "capabilities";
    pub(crate) const NO_NEW_PRIVS: &str = "no-new-privs";
    pub(crate) const HOME: &str = "private-home";
    pub(crate) const CLOSED: &str = "non-dumpable";

    /// The part of `landlock` since its version 9 that restricts sockets that are files.
    pub(crate) const SOCKET_FILES: &str = "landlock-socket-files";
    /// This is not a layer, but the protection that every command gets, even with full-control: a separate session, a clean environment, closed
    /// descriptors, and marks.
    pub(crate) const ALWAYS: &str = "always";
}

use layer::{
    ALWAYS, CAPABILITIES, CLOSED, HOME, IPC, LANDLOCK, MOUNTS, NO_NEW_PRIVS, PIDS, SCOPE, SECCOMP,
    SOCKET_FILES,
};

/// Sets of layers; an attack gets through when all layers of one set are missing.
pub(super) type Ways = &'static [&'static [&'static str]];

/// The ways of an attack on the runner of an ordinary user, in relation to those on root's runner.
#[derive(Clone, Copy)]
enum User {
    Same,
    /// The attack is never possible, because the account lacks the rights, with or without a sandbox.
    Never,
    Ways(Ways),
}

/// An attack of a command on its machine.
#[derive(Clone, Copy)]
pub(super) struct Attack {
    pub(super) name: &'static str,
    /// A command that runs before the attack's script and leaves something behind.
    pub(super) before: &'static str,
    /// A shell script that exits with 0 if the attack gets through, and with 77 if this machine has no such target.
    pub(super) script: &'static str,
    ways: Ways,
    user: User,
    /// True if the attack is also tried on the server itself and in a container.
    pub(super) is_essential: bool,
}

impl Attack {
    const fn user(self, ways: Ways) -> Self {
        Self { user: User::Ways(ways), ..self }
    }

    const fn root_only(self) -> Self {
        Self { user: User::Never, ..self }
    }

    const fn essential(self) -> Self {
        Self { is_essential: true, ..self }
    }

    const fn after(self, before: &'static str) -> Self {
        Self { before, ..self }
    }

    /// Returns the ways of the attack on the runner of root, or of an ordinary user.
    pub(super) fn ways(&self, is_root: bool) -> Ways {
        match self.user {
            User::Ways(ways) if !is_root => ways,
            User::Never if !is_root => &[],
            User::Same | User::Never | User::Ways(_) => self.ways,
        }
    }
}

const fn attack(name: &'static str, script: &'static str, ways: Ways) -> Attack {
    Attack { name, before: "", script, ways, user: User::Same, is_essential: false }
}

/// Files in the person's home, which is replaced for commands.
const SECRETS: Ways = &[&[HOME], &[MOUNTS, LANDLOCK]];
/// Files elsewhere in the file system.
const FILES: Ways = &[&[MOUNTS, LANDLOCK]];
/// Operations that Landlock does not check, but mounts prevent.
const NAMES: Ways = &[&[MOUNTS]];
const SOCKETS: Ways = &[&[MOUNTS, SOCKET_FILES]];
/// System calls for which the kernel requires a capability.
const CALLS: Ways = &[&[SECCOMP, CAPABILITIES]];
/// System calls that any process may make.
const OPEN_CALLS: Ways = &[&[SECCOMP]];
const EVERY: Ways = &[&[ALWAYS]];
/// Inspecting the runner through its confined thread, which is in the commands' own Landlock domain.
const RUNNER: Ways = &[&[CLOSED], &[CAPABILITIES]];
/// The runner of an ordinary user has capabilities in its user namespace; its commands have none.
const RUNNER_BY_USER: Ways = &[&[PIDS, CLOSED]];
const RUNNER_CALLS: Ways = &[&[SECCOMP, CLOSED], &[SECCOMP, CAPABILITIES]];
const RUNNER_CALLS_BY_USER: Ways = &[&[PIDS, SECCOMP, CLOSED]];
/// Inspecting the runner's threads that see the whole machine.
const RUNNER_OUTSIDE: Ways = &[&[LANDLOCK, SCOPE, CAPABILITIES]];
const RUNNER_OUTSIDE_BY_USER: Ways = &[&[PIDS, LANDLOCK, SCOPE, CLOSED]];
/// Inspecting another process of the machine, either the user's own or root's.
const OTHERS: Ways = &[&[PIDS, LANDLOCK, SCOPE, CAPABILITIES]];
const OTHERS_BY_USER: Ways = &[&[PIDS, LANDLOCK, SCOPE]];
const OTHERS_CALLS: Ways = &[&[PIDS, LANDLOCK, SCOPE, CAPABILITIES, SECCOMP]];
const OTHERS_CALLS_BY_USER: Ways = &[&[PIDS, LANDLOCK, SCOPE, SECCOMP]];
const SIGNALS: Ways = &[&[PIDS, SCOPE]];

/// All attacks. `$H` is the person's home, `$OUT` a directory elsewhere, `$V` another process of the same user, `$U` one of
/// another user, `$RP` the runner, `$T` its threads, `$G` its guardian, `$S` the server.
pub(super) const ATTACKS: &[Attack] = &[
    // Files that hold secrets.
    attack("ssh key", "grep -q treasure $H/.ssh/id_ed25519", SECRETS),
    attack("aws credentials", "grep -q treasure $H/.aws/credentials", SECRETS),
    attack("gnupg keys", "grep -q treasure $H/.gnupg/private-keys-v1.d/key", SECRETS),
    attack("github cli", "grep -q treasure $H/.config/gh/hosts.yml", SECRETS),
    attack("netrc", "grep -q treasure $H/.netrc", SECRETS),
    attack("git credentials", "grep -q treasure $H/.git-credentials", SECRETS),
    attack("docker credentials", "grep -q treasure $H/.docker/config.json", SECRETS),
    attack("kubernetes credentials", "grep -q treasure $H/.kube/config", SECRETS),
    attack("cargo token", "grep -q treasure $H/.cargo/credentials.toml", SECRETS),
    attack("firefox passwords", "grep -q treasure $H/.mozilla/firefox/profile/logins.json", SECRETS),
    attack("chrome cookies", "grep -q treasure $H/.config/google-chrome/Default/Cookies", SECRETS),
    attack("shell history", "grep -q treasure $H/.bash_history", SECRETS),
    attack("authorized keys written", "echo x >> $H/.ssh/authorized_keys && grep -q real $H/.ssh/authorized_keys", SECRETS),
    attack("shadow", "grep -q . /etc/shadow", FILES).root_only().essential(),
    attack("sudoers", "grep -q treasure /etc/sudoers", FILES).root_only(),
    attack("host key", "grep -q treasure /etc/ssh/ssh_host_ed25519_key", FILES).root_only(),
    attack("home of another user", "grep -q treasure /home/other/secret", FILES).root_only(),
    attack("open home of another user", "grep -q treasure /home/open/secret", FILES),
    attack("file elsewhere", "grep -q treasure $OUT/secret", FILES).essential(),
    attack("file by its parent directories", "grep -q treasure ../../../../../../../../..$OUT/secret", FILES).essential(),
    attack("file by a link", "ln -s $OUT/secret a && grep -q treasure a", FILES).essential(),
    attack("file by an earlier link", "grep -q treasure planted-link", FILES).after("ln -s $OUT/secret planted-link"),
    attack("file by a working directory", "cd $OUT && grep -q treasure secret", FILES),
    attack("directory listed", "ls $OUT | grep -q secret", FILES).essential(),
    attack("file seen to exist", "test -e $OUT/secret", NAMES),
    attack("file watched", "$P watch $OUT/secret", NAMES),
    attack("runner's state", "grep -q treasure $STATE/secret", FILES).essential(),
    attack("runner's token", "grep -q sbr_ $TOKEN", FILES),
    // Changes to files outside of the workspace.
    attack("file made elsewhere", "echo x > $OUT/made", FILES).essential(),
    attack("file appended to", "echo x >> $OUT/changed", FILES),
    attack("file emptied", ": > $OUT/emptied", FILES),
    attack("file removed", "rm $OUT/removed", FILES).essential(),
    attack("file renamed", "mv $OUT/renamed $OUT/renamed2", FILES),
    attack("directory made", "mkdir $OUT/directory", FILES),
    attack("link made", "ln -s x $OUT/link", FILES),
    attack("mode changed", "chmod 777 $OUT/mode", NAMES),
    attack("times changed", "touch -d 2001-01-01 $OUT/times", NAMES),
    attack("program planted", "echo x > /usr/local/sbin/planted", FILES),
    attack("configuration planted", "echo x > /etc/planted", FILES),
    attack("package planted", "echo x > /opt/planted", FILES),
    attack("program planted on the PATH", "for d in $(echo $PATH | tr : ' '); do echo x > $d/planted && exit; done; false", FILES),
    attack("runner replaced", "cp $P $BIN.new && mv $BIN.new $BIN", FILES),
    attack("runner's program read from the runner", "for t in $T; do head -c 4 /proc/$t/exe | grep -q ELF && exit; done; false", &[&[LANDLOCK, CLOSED], &[LANDLOCK, CAPABILITIES]])
        .user(&[&[PIDS, LANDLOCK, CLOSED]]),
    attack("settings of the kernel", "f=/proc/sys/kernel/core_pattern; v=$(cat $f) && echo \"$v\" > $f", FILES).root_only().essential(),
    attack("sysrq", "f=/proc/sysrq-trigger; test -e $f || exit 77; : >> $f", FILES).root_only().essential(),
    attack("sysfs", "f=/sys/kernel/mm/transparent_hugepage/enabled; test -e $f || exit 77; : >> $f", FILES).root_only().essential(),
    attack("kernel memory", "test -e /proc/kcore || exit 77; head -c 1 /proc/kcore | grep -q .", &[&[CAPABILITIES]]).root_only(),
    attack("cgroup left", "f=$(ls /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs 2>/dev/null | head -n 1); : >> $f", FILES).root_only().essential(),
    attack("cgroup release agent", "f=$(ls /sys/fs/cgroup/*/release_agent 2>/dev/null | head -n 1); test -n \"$f\" || exit 77; : >> $f", FILES).root_only(),
    attack("temporary file of another user", "grep -q treasure /tmp/secret", NAMES),
    attack("temporary file of a name that can be guessed", "echo x > /tmp/guessed && test -e /tmp/secret", NAMES),
    attack("shared memory file", "grep -q treasure /dev/shm/$KEY", NAMES),
    // Devices.
    attack("disk", "d=$(ls /dev/vda /dev/sda /dev/nvme0n1 /dev/xvda /dev/loop0 2>/dev/null | head -1); test -n \"$d\" || exit 77; head -c 1 $d >/dev/null", FILES).root_only().essential(),
    attack("memory device", "test -e /dev/mem || exit 77; : >> /dev/mem", &[&[MOUNTS, LANDLOCK, CAPABILITIES]]).root_only(),
    attack("kernel log device", ": >> /dev/kmsg", FILES).root_only().essential(),
    attack("block device made", "$P make-device b 8 0 ./device", &[&[LANDLOCK, CAPABILITIES]]).root_only().essential(),
    attack("device made and opened", "$P make-and-open c 1 3 ./device2", &[&[LANDLOCK, CAPABILITIES, MOUNTS]]).root_only(),
    // Sockets.
    attack("docker socket", "$P connect /run/docker.sock", SOCKETS).essential(),
    attack("system bus", "$P connect /run/dbus/system_bus_socket", SOCKETS),
    attack("session bus", "$P connect /run/user/bus", SOCKETS),
    attack("systemd", "$P connect /run/systemd/private", SOCKETS),
    attack("wayland", "$P connect /run/user/wayland-0", SOCKETS),
    attack("x11", "$P connect /tmp/.X11-unix/X7", NAMES),
    attack("ssh agent", "$P connect /tmp/ssh-agent/agent.1", NAMES),
    attack("socket elsewhere", "$P connect $OUT/socket", SOCKETS),
    attack("abstract socket", "$P connect @sandbridge-$KEY", &[&[SCOPE]]),
    attack("packet socket", "$P socket 17 3 3", CALLS).root_only().essential(),
    attack("raw socket", "$P socket 2 3 256", &[&[CAPABILITIES]]).root_only().essential(),
    attack("hypervisor socket", "$P socket 40 1 0", OPEN_CALLS).essential(),
    attack("crypto socket", "$P socket 38 5 0", OPEN_CALLS),
    attack("network interface changed", "$P change-link", &[&[CAPABILITIES]]).root_only(),
    // The runner.
    attack("runner's environment", "for t in $T; do grep -q treasure /proc/$t/environ && exit; done; false", RUNNER).user(RUNNER_BY_USER).essential(),
    attack("runner's memory", "for t in $T; do true < /proc/$t/mem && exit; done; false", RUNNER).user(RUNNER_BY_USER).essential(),
    attack("runner's map", "for t in $T; do grep -q . /proc/$t/maps && exit; done; false", RUNNER).user(RUNNER_BY_USER),
    attack("runner's descriptors", "for t in $T; do readlink /proc/$t/fd/1 && exit; done; false", RUNNER).user(RUNNER_BY_USER).essential(),
    attack("runner's output", "for t in $T; do echo x > /proc/$t/fd/1 && exit; done; false", RUNNER).user(RUNNER_BY_USER).essential(),
    attack("runner's root", "for t in $T; do grep -q treasure /proc/$t/root$OUT/secret && exit; done; false", &[&[LANDLOCK, SCOPE, CAPABILITIES], &[LANDLOCK, MOUNTS, CAPABILITIES], &[LANDLOCK, MOUNTS, CLOSED]]).user(&[&[PIDS, LANDLOCK, CLOSED]]),
    attack("runner's working directory", "readlink /proc/$RP/cwd", RUNNER_OUTSIDE).user(RUNNER_OUTSIDE_BY_USER),
    attack("runner's mounts joined", "$P join $RP mnt", &[&[LANDLOCK, SCOPE, SECCOMP, CAPABILITIES]])
        .root_only(),
    attack("runner traced", "$P trace $T", RUNNER_CALLS).user(RUNNER_CALLS_BY_USER).essential(),
    attack("runner's memory by call", "$P read-memory $T", RUNNER_CALLS).user(RUNNER_CALLS_BY_USER).essential(),
    attack("runner compared", "$P compare $T", RUNNER_CALLS).user(RUNNER_CALLS_BY_USER),
    attack("runner's descriptor taken", "$P take-descriptor $RP", &[&[LANDLOCK, SCOPE, SECCOMP, CAPABILITIES]])
        .user(&[&[LANDLOCK, SCOPE, SECCOMP, PIDS, CLOSED]]).essential(),
    attack("runner signalled", "$P kill $RP", &[&[SCOPE, SECCOMP]]).essential(),
    attack("runner's thread signalled", "$P kill-thread $T", &[&[SECCOMP]]).essential(),
    attack("runner limited", "$P limit $RP", OPEN_CALLS).essential(),
    attack("runner pinned", "$P pin $RP", CALLS).user(&[&[SECCOMP, PIDS]]),
    attack("runner slowed", "$P slow $RP", CALLS).user(&[&[SECCOMP, PIDS]]),
    attack("guardian signalled", "$P kill $G", &[&[PIDS, SCOPE, SECCOMP]]),
    attack("guardian's environment", "readlink /proc/$G/exe && grep -q treasure /proc/$G/environ", OTHERS)
        .user(&[&[PIDS, LANDLOCK, SCOPE, CLOSED]]),
    // Other processes.
    attack("server's environment", "readlink /proc/$S/exe && grep -q . /proc/$S/environ", OTHERS).root_only(),
    attack("process's environment", "readlink /proc/$V/exe && grep -q treasure /proc/$V/environ", OTHERS).user(OTHERS_BY_USER),
    attack("process's memory", "true < /proc/$V/mem", OTHERS).user(OTHERS_BY_USER),
    attack("process's map", "readlink /proc/$V/exe && grep -q . /proc/$V/maps", OTHERS).user(OTHERS_BY_USER),
    attack("process's descriptors", "readlink /proc/$V/fd/0", OTHERS).user(OTHERS_BY_USER),
    attack("process's root", "grep -q treasure /proc/$V/root$OUT/secret", OTHERS).user(OTHERS_BY_USER),
    attack("process's working directory", "grep -q treasure /proc/$V/cwd/secret", OTHERS).user(OTHERS_BY_USER),
    attack("process's command line", "tr '\\0' ' ' < /proc/$V/cmdline | grep -q sleep", &[&[PIDS, MOUNTS], &[PIDS, LANDLOCK, SCOPE, CAPABILITIES]]).user(&[&[PIDS]]),
    attack("process traced", "$P trace $V", OTHERS_CALLS).user(OTHERS_CALLS_BY_USER),
    attack("process's memory by call", "$P read-memory $V", OTHERS_CALLS).user(OTHERS_CALLS_BY_USER),
    attack("process compared", "$P compare $V", OTHERS_CALLS).user(OTHERS_CALLS_BY_USER),
    attack("process's descriptor taken", "$P take-descriptor $V", OTHERS_CALLS).user(OTHERS_CALLS_BY_USER),
    attack("process's mounts joined", "$P join $V mnt", OTHERS_CALLS).root_only(),
    attack("process signalled", "$P kill $V", SIGNALS),
    attack("process signalled by its directory", "$P kill-directory $V", &[&[PIDS, SCOPE, MOUNTS, SECCOMP], &[PIDS, SCOPE, LANDLOCK, CAPABILITIES, SECCOMP]]).user(&[&[PIDS, SCOPE, SECCOMP]]),
    attack("process of another user signalled", "$P kill $U", SIGNALS).root_only(),
    attack("process limited", "$P limit $V", &[&[PIDS, SECCOMP]]),
    attack("process pinned", "$P pin $V", &[&[PIDS, CAPABILITIES]]).user(&[&[PIDS]]),
    attack("process slowed", "$P slow $V", &[&[PIDS, CAPABILITIES]]).user(&[&[PIDS]]),
    attack("process killed", "$P kill-really $K", SIGNALS),
    // Terminals.
    attack("terminal typed into", "$P type-into $TTY", &[&[MOUNTS, LANDLOCK, SECCOMP, CAPABILITIES]])
        .user(&[&[MOUNTS, LANDLOCK, SECCOMP, ALWAYS]]),
    attack("terminal written to", "echo x > $TTY", FILES),
    attack("own terminal typed into", "$P type-into /dev/tty", &[&[SECCOMP, ALWAYS]]),
    attack("own terminal", ": < /dev/tty", EVERY).essential(),
    attack("console typed into", "$P terminal-request 0x541C", OPEN_CALLS),
    attack("line discipline", "$P terminal-request 0x5423", OPEN_CALLS),
    // Privileges.
    attack("mount", "$P mount", &[&[SECCOMP, CAPABILITIES, LANDLOCK]]).root_only().essential(),
    attack("mount by the new calls", "$P new-mount", CALLS).root_only().essential(),
    attack("mount cloned", "$P clone-mount", CALLS).root_only(),
    attack("root changed", "$P change-root", CALLS).root_only().essential(),
    attack("root pivoted", "$P pivot", &[&[SECCOMP, CAPABILITIES, LANDLOCK]]).root_only(),
    attack("user namespace", "$P leave 0x10000000", OPEN_CALLS).essential(),
    attack("user namespace by clone", "$P clone 0x10000000", OPEN_CALLS).essential(),
    attack("user namespace by clone3", "$P clone3 0x10000000", OPEN_CALLS).essential(),
    attack("mount namespace", "$P leave 0x20000", CALLS).root_only().essential(),
    attack("network namespace", "$P leave 0x40000000", CALLS).root_only(),
    attack("time namespace", "$P leave 0x80", CALLS).root_only(),
    attack("file of another identity run", "$TOOLS/elevated elevated", &[&[NO_NEW_PRIVS, MOUNTS]])
        .user(&[&[NO_NEW_PRIVS, MOUNTS, PIDS]]),
    attack("set-user-id file left behind", "test $(id -u) = 0 && cp $P s && $P make-set-user-id s", OPEN_CALLS).root_only().essential(),
    attack("capabilities given to a file", "cp $P c && $P give-capability c", &[&[CAPABILITIES]]).root_only().essential(),
    // The kernel.
    attack("bpf", "$P bpf", CALLS).root_only().essential(),
    attack("performance counters", "$P perf", OPEN_CALLS).essential(),
    attack("page faults handled", "$P fault-handler", OPEN_CALLS).essential(),
    attack("io_uring", "$P ring", OPEN_CALLS).essential(),
    attack("fanotify", "$P fanotify", CALLS).root_only(),
    attack("file by its handle", "$P handle", CALLS).root_only().essential(),
    attack("key made", "$P add-key", OPEN_CALLS).essential(),
    attack("key stolen", "$P steal-key $KEY", OPEN_CALLS).user(&[&[SECCOMP, PIDS]]),
    attack("module loaded", "$P init-module", CALLS).root_only(),
    attack("module removed", "$P delete-module", CALLS).root_only(),
    attack("other kernel started", "$P kexec", CALLS).root_only(),
    attack("machine restarted", "$P restart", CALLS).root_only().essential(),
    attack("swap", "$P swap", CALLS).root_only(),
    attack("accounting", "$P account", CALLS).root_only(),
    attack("clock set", "$P set-clock", CALLS).root_only(),
    attack("host renamed", "$P host-name", CALLS).root_only(),
    attack("kernel log", "$P kernel-log", CALLS).root_only(),
    attack("ports", "$P ports", CALLS).root_only(),
    attack("calls of 32 bits", "$P old-calls", OPEN_CALLS).essential(),
    attack("calls of x32", "$P x32-calls", OPEN_CALLS),
    attack("shared memory", "$P steal-memory $NUMBER", &[&[IPC, SECCOMP]]),
    attack("message queue", "$P steal-queue /$KEY", &[&[IPC, SECCOMP, LANDLOCK]]),
    // From one command to the next.
    attack("environment of the runner", "env | grep -q treasure", EVERY).essential(),
    attack("descriptor of the runner", "grep -q treasure <&9", EVERY).essential(),
    attack("descriptors", "ls /proc/self/fd | grep -qvx '[0-3]'", EVERY),
    attack("LD_PRELOAD", "test -n \"$LD_PRELOAD\"", EVERY).after("export LD_PRELOAD=/nonexistent.so"),
    attack("PATH", "echo \"$PATH\" | grep -q evil", EVERY).after("PATH=$PATH:/evil"),
    attack("GIT variables", "env | grep -q GIT_", EVERY).after("export GIT_DIR=/evil GIT_SSH_COMMAND=evil"),
    attack("BASH_ENV and ENV", "test -n \"$BASH_ENV$ENV\"", EVERY).after("export BASH_ENV=/evil ENV=/evil"),
    attack("shell function", "type ls | grep -q function", EVERY).after("ls() { :; }"),
    attack("umask", "test $(umask) = 0707", EVERY).after("umask 707"),
    attack("ignored signals", "grep -q 'SigIgn:.*[4-7c-f]$' /proc/self/status", EVERY).after("trap '' QUIT"),
    attack("limits", "test $(ulimit -n) = 99", EVERY).after("ulimit -n 99"),
    attack("working directory", "pwd | grep -q /evil", EVERY).after("mkdir -p evil; cd evil"),
];

/// Processes that may continue after their command was stopped: each kind, with its ways.
pub(super) const SURVIVORS: &[(&str, Ways)] = &[
    ("plain", EVERY),
    ("deaf", EVERY),
    ("reaper", EVERY),
    ("closed", EVERY),
    ("parent", EVERY),
    ("named", EVERY),
    ("forking", EVERY),
    ("headless", EVERY),
    ("other", EVERY),
    ("marked", OPEN_CALLS),
];
