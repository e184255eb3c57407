//! The result of an attempt, and whether it is as required.

use super::arena::{Arena, OUTSIDE_MARK, Plant, Snapshot};
use super::corpus::{Attempt, Case, Expected};

/// The prefix of hidden temporary names.
const TEMPORARY: &str = ".sandbridge-";
/// How much of a wrong answer is printed, in characters.
const SHOWN_CHARACTERS: usize = 300;
/// The set-user-id and set-group-id bits.
const SET_ID: u32 = 0o6000;
/// The bits for a file's kind, and those of the kinds that a harmless archive never creates.
const KIND: u32 = 0o170_000;
const DEVICES: [u32; 2] = [0o020_000, 0o060_000];

/// An attempt that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub kind: Expected,
    /// The whole text of the error.
    pub message: String,
}

/// The data that the attempt saw, or its refusal.
pub type Answer = Result<String, Refusal>;

/// Checks that a guard did its duty; the error describes the failure.
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
    // A second name of a file is the same file, as long as hard links may be read.
    let is_twin = case.plants.iter().any(|plant| matches!(plant, Plant::HardLink(..)));
    let said = answer.as_ref().unwrap_or_else(|refusal| &refusal.message);
    if said.contains(OUTSIDE_MARK) && !is_twin {
        return wrong("the outside was seen");
    }
    if let Err(refusal) = answer
        && refusal.message.contains(&arena.outside_path())
        && !names_the_outside(case, arena)
    {
        return wrong("a path outside was revealed");
    }
    if before.outside != after.outside {
        return wrong("the outside was changed");
    }
    if !arena.root().is_dir() {
        return wrong("the root no longer exists");
    }
    // For an archive, entries before the error stay.
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

/// True if an error may name the outside: the given path contains its path, or an archive is read.
fn names_the_outside(case: &Case, arena: &Arena) -> bool {
    let outside = arena.outside_path();
    let names = |text: &[u8]| arena.expand(text).to_string_lossy().contains(&outside);
    let in_archive = matches!(case.attempt, Attempt::Unpack(_) | Attempt::Mirror(_));
    names(case.path) || in_archive
}

/// True if an attempt without a guard did harm: it saw or changed the outside, created something privileged, removed the
/// root, read a device, or (without an answer) did not return.
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

/// True if there is a new device, or a new or changed file that runs as its owner or group.
fn makes_privileged(before: &Snapshot, after: &Snapshot) -> bool {
    let mut changed = after.inside.iter().filter(|(path, facts)| before.inside.get(*path) != Some(facts));
    changed.any(|(_, (mode, ..))| mode & SET_ID != 0 || DEVICES.contains(&(mode & KIND)))
}
