//! The table of commands that run other commands.

/// A command that runs another command, which is among its words.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Letters of the short options without a value.
    pub(super) flags: &'static str,
    /// Letters of the short options with a value.
    pub(super) values: &'static str,
    /// Long options without a value, or whose value is in the same word.
    pub(super) long_flags: &'static [&'static str],
    /// Long options whose value may be the next word.
    pub(super) long_values: &'static [&'static str],
    /// The number of its own operands before the other command.
    pub(super) operands: usize,
    /// True if it only runs the other command, unless it has an option outside `values` and `long_values`.
    pub(super) is_transparent: bool,
    /// True if assignments may precede the other command.
    pub(super) takes_assignments: bool,
}

const NONE: Wrapper = Wrapper {
    name: "",
    flags: "",
    values: "",
    long_flags: &[],
    long_values: &[],
    operands: 0,
    is_transparent: false,
    takes_assignments: false,
};

const SUDO: Wrapper = Wrapper {
    name: "sudo",
    flags: "AbBEHiKknPSsV",
    values: "ugpCrthTUDR",
    long_flags: &[
        "non-interactive",
        "preserve-env",
        "login",
        "shell",
        "set-home",
        "stdin",
        "background",
        "reset-timestamp",
    ],
    long_values: &[
        "user",
        "group",
        "prompt",
        "host",
        "chdir",
        "chroot",
        "role",
        "type",
        "close-from",
        "other-user",
    ],
    takes_assignments: true,
    ..NONE
};

/// All known wrappers.
pub(super) const WRAPPERS: &[Wrapper] = &[
    SUDO,
    Wrapper { name: "doas", flags: "Lns", values: "uCa", ..NONE },
    Wrapper {
        name: "env",
        flags: "i0v",
        values: "uCa",
        long_flags: &["ignore-environment", "null", "debug"],
        long_values: &["unset", "chdir", "argv0"],
        takes_assignments: true,
        ..NONE
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        is_transparent: true,
        ..NONE
    },
    Wrapper { name: "nohup", is_transparent: true, ..NONE },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        is_transparent: true,
        ..NONE
    },
    Wrapper {
        name: "stdbuf",
        values: "ioe",
        long_values: &["input", "output", "error"],
        is_transparent: true,
        ..NONE
    },
    Wrapper { name: "command", flags: "p", is_transparent: true, ..NONE },
    Wrapper { name: "builtin", is_transparent: true, ..NONE },
    Wrapper { name: "exec", flags: "cl", values: "a", ..NONE },
    Wrapper {
        name: "time",
        flags: "pvaqV",
        values: "fo",
        long_flags: &["portability", "verbose", "append", "quiet"],
        long_values: &["format", "output"],
        ..NONE
    },
    Wrapper {
        name: "xargs",
        flags: "0rtpxo",
        values: "IinPLlsdaEeJRS",
        long_flags: &["null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "replace"],
        long_values: &[
            "max-args",
            "max-procs",
            "max-lines",
            "max-chars",
            "delimiter",
            "arg-file",
            "eof",
            "process-slot-var",
        ],
        ..NONE
    },
    Wrapper { name: "setsid", flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..NONE },
    Wrapper {
        name: "ionice",
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        ..NONE
    },
    Wrapper { name: "chrt", flags: "abfiorRvd", values: "TPD", operands: 1, ..NONE },
    Wrapper { name: "taskset", flags: "ac", operands: 1, ..NONE },
    Wrapper {
        name: "strace",
        flags: "cCdDfFhiknqrtTvVwxyYzZ",
        values: "abeEIoOpPsSuUX",
        long_flags: &["follow-forks"],
        long_values: &["output", "trace"],
        ..NONE
    },
    Wrapper { name: "ltrace", flags: "cCfhiLnrStTV", values: "aAeDFlnopsuwxX", ..NONE },
    Wrapper {
        name: "chroot",
        long_flags: &["skip-chdir"],
        long_values: &["userspec", "groups"],
        operands: 1,
        ..NONE
    },
    Wrapper {
        name: "flock",
        flags: "sxunoFv",
        values: "wE",
        long_flags: &["shared", "exclusive", "nonblock", "unlock", "close", "no-fork", "verbose"],
        long_values: &["timeout", "wait", "conflict-exit-code"],
        operands: 1,
        ..NONE
    },
    Wrapper { name: "busybox", ..NONE },
    Wrapper { name: "toybox", ..NONE },
    Wrapper { name: "noglob", ..NONE },
    Wrapper { name: "nocorrect", ..NONE },
    Wrapper { name: "caffeinate", flags: "dimsu", values: "tw", ..NONE },
];

/// Shells, which run the text after `-c`, a file, or their standard input.
pub(super) const SHELLS: &[&str] =
    &["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash", "fish", "csh", "tcsh"];

/// Commands that run the text after `-c`.
pub(super) const TEXT_OPTION: &[&str] = &["su", "runuser", "script", "flock"];

/// Short options of `ssh` with a value.
pub(super) const SSH_VALUES: &str = "BbcDEeFIiJLlmOopPQRSWw";

/// Builtins that run substitutions in the names of variables that they are given.
pub(super) const EVALUATORS: &[&str] = &[
    "[",
    "[[",
    "declare",
    "export",
    "getopts",
    "let",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// Options of `find` and `fd` that are followed by a command.
pub(super) const EXEC_OPTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// Commands that run another command, and whose options are not known here.
pub(super) const CARRIERS: &[&str] = &[
    "bwrap",
    "cgexec",
    "entr",
    "faketime",
    "firejail",
    "nsenter",
    "numactl",
    "parallel",
    "prlimit",
    "proxychains",
    "runcon",
    "setarch",
    "setpriv",
    "systemd-run",
    "torsocks",
    "unshare",
    "xvfb-run",
];

/// Commands that run another command elsewhere, and have subcommands named like commands (`docker rm`).
pub(super) const CONTAINERS: &[&str] = &[
    "docker",
    "incus",
    "kubectl",
    "lxc",
    "machinectl",
    "nerdctl",
    "oc",
    "podman",
    "screen",
    "tmux",
    "vagrant",
    "wsl",
];
