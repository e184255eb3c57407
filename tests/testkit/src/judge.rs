//! What an attempt came to, and whether that is as it must be.

use super::arena::{Arena, OUTSIDE_MARK, Plant, Snapshot};
use super::corpus::{Attempt, Case, Expected};

/// How hidden temporary names begin.
const TEMPORARY: &str = ".sandbridge-";
/// How much of a wrong answer is shown.
const SHOWN_CHARACTERS: usize = 300;
/// The set-user-id and set-group-id bits.
const SET_ID: u32 = 0o6000;
/// The bits that tell a file's kind, and those of the kinds a harmless archive never makes.
const KIND: u32 = 0o170_000;
const DEVICES: [u32; 2] = [0o020_000, 0o060_000];

/// An attempt that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: Expected,
    /// All that is said of it.
    pub message: String,
}

/// What was seen, or why nothing was.
pub type Answer = Result<String, Refusal>;

/// Whether a guard did what it owes; the error says what it did instead.
pub fn judge(
    case: &Case,
    arena: &Arena,
    before: &Snapshot,
    after: &Snapshot,
    answer: &Answer,
) -> Result<(), String> {
    let wrong = |what: &str| {
        let shown: String = format!("{answer:?}").chars().take(SHOWN_CHARACTERS).collect();
        Err(format!("{}: {what}: {shown}", case.name))
    };
    let kind = match answer {
        Ok(_) => Expected::Inside,
        Err(refusal) => refusal.kind,
    };
    if kind != case.expected {
        return wrong(&format!("{:?} was expected", case.expected));
    }
    // A second name of a file is that file, as long as hard links may be read.
    let is_twin = case.plants.iter().any(|plant| matches!(plant, Plant::HardLink(..)));
    let said = answer.as_ref().unwrap_or_else(|refusal| &refusal.message);
    if said.contains(OUTSIDE_MARK) && !is_twin {
        return wrong("the outside was seen");
    }
    if let Err(refusal) = answer
        && refusal.message.contains(&arena.outside_path())
        && !names_the_outside(case, arena)
    {
        return wrong("a path outside was told");
    }
    if before.outside != after.outside {
        return wrong("the outside was changed");
    }
    if !arena.root().is_dir() {
        return wrong("the root is gone");
    }
    // Of an archive what came before the error stays.
    let is_partial = matches!(case.attempt, Attempt::Unpack(_) | Attempt::Mirror(_));
    if answer.is_err() && before.inside != after.inside && !is_partial {
        return wrong("it was refused, yet something changed");
    }
    if after.inside.keys().any(|path| path.to_string_lossy().contains(TEMPORARY)) {
        return wrong("a temporary file was left");
    }
    if after.inside != before.inside && makes_privileged(before, after) {
        return wrong("a privileged file was made");
    }
    Ok(())
}

/// Whether the path that was given tells the outside's path itself.
fn names_the_outside(case: &Case, arena: &Arena) -> bool {
    let outside = arena.outside_path();
    let names = |text: &[u8]| arena.expand(text).to_string_lossy().contains(&outside);
    let in_archive = matches!(case.attempt, Attempt::Unpack(_) | Attempt::Mirror(_));
    names(case.path) || in_archive
}

/// Whether an attempt without a guard did harm: it saw or changed the outside, made what is privileged, did away with
/// the root, read a device, or (without an answer) did not return.
pub fn is_harm(
    case: &Case,
    arena: &Arena,
    before: &Snapshot,
    after: &Snapshot,
    answer: Option<&std::io::Result<String>>,
) -> bool {
    let Some(answer) = answer else { return true };
    let seen = answer.as_deref().unwrap_or_default();
    let reads_device = case.plants.iter().any(|plant| match plant {
        Plant::Device(_) => true,
        Plant::Symlink(_, target) => target.starts_with("/dev/"),
        _ => false,
    });
    seen.contains(OUTSIDE_MARK)
        || before.outside != after.outside
        || makes_privileged(before, after)
        || !arena.root().exists()
        || before.inside.len() > 1
            && after.inside.len() == 1
            && matches!(case.attempt, Attempt::RemoveAll)
            && case.expected == Expected::Invalid
        || reads_device && seen.contains("\0\0\0\0")
}

/// Whether a device, or a changed file that runs as its owner or group, is there that was not.
fn makes_privileged(before: &Snapshot, after: &Snapshot) -> bool {
    let mut changed = after.inside.iter().filter(|(path, facts)| before.inside.get(*path) != Some(facts));
    changed.any(|(_, (mode, ..))| mode & SET_ID != 0 || DEVICES.contains(&(mode & KIND)))
}
