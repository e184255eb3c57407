//! Built-in rules that ask before commands that destroy data or stop a machine.

use crate::layer::{Layer, LoadedRule};
use crate::rule::{Effect, Origin, Rule};

/// Patterns of commands, with the reason for asking.
const RULES: &[(&str, &[&str])] = &[
    (
        "it deletes folders with everything in them",
        &[
            "rm -rf *",
            "rm -Rf *",
            "rm -r --force *",
            "rm --recursive --force *",
            "rm -R --force *",
            "rm --recursive -f *",
        ],
    ),
    (
        "it erases a disk",
        &[
            "mkfs",
            "mkfs *",
            "mkfs.*",
            "mke2fs *",
            "mkswap *",
            "wipefs *",
            "format *",
            "format.com *",
            "fdisk *",
            "parted *",
            "blkdiscard *",
        ],
    ),
    ("it overwrites disks and files byte by byte", &["dd if=*", "dd * if=*", "dd of=*", "dd * of=*"]),
    (
        "it stops the machine",
        &[
            "shutdown *",
            "reboot *",
            "halt *",
            "poweroff *",
            "init 0",
            "init 6",
            "telinit *",
            "systemctl poweroff *",
            "systemctl reboot *",
            "systemctl halt *",
            "systemctl kexec *",
        ],
    ),
    (
        "it lets everyone change files",
        &[
            "chmod -R 777 *",
            "chmod -R 0777 *",
            "chmod --recursive 777 *",
            "chmod -R a+rwx *",
            "chmod -R ugo+rwx *",
            "chmod -R o+w *",
        ],
    ),
];

/// The built-in rules, as a separate layer: defaults, which a caller checks after all others. A fork bomb is not among
/// them: it defines a function, so its line counts as not understood, and a runner's limit on processes ends it.
pub fn dangerous() -> Layer {
    let mut rules = Vec::new();
    for (why, patterns) in RULES {
        for pattern in *patterns {
            let Ok(rule) = Rule::parse(&format!("Shell({pattern})")) else { continue };
            rules.push(LoadedRule {
                id: format!("dangerous:{pattern}"),
                effect: Effect::Ask,
                rule,
                justification: Some((*why).to_owned()),
            });
        }
    }
    Layer { origin: Origin::BuiltIn, rules }
}

#[cfg(test)]
mod tests;
