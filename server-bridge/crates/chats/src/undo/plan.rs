//! The target state of each file: its state before the first of the turns that changed it.

use std::collections::HashMap;

use store::{Checkpoint, Kept, Left};

/// A file, and its target state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) place: String,
    pub(super) path: String,
    /// The target state of the file.
    pub(super) kept: Kept,
    pub(super) mode: Option<i64>,
    pub(super) sha256: Option<String>,
    /// The state that the last of the turns left.
    pub(super) left: Left,
}

/// The plans, one for each changed file, in the order in which changes are taken back; `checkpoints` has the last one first.
pub(super) fn of(checkpoints: Vec<Checkpoint>) -> Vec<Planned> {
    let mut planned: Vec<Planned> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for checkpoint in checkpoints {
        let left = checkpoint.left();
        if left == Left::Unchanged {
            continue;
        }
        let Checkpoint { place, path, kept, mode, sha256, .. } = checkpoint;
        match known.get(&(place.clone(), path.clone())) {
            Some(at) => {
                let earlier = &mut planned[*at];
                (earlier.kept, earlier.mode, earlier.sha256) = (kept, mode, sha256);
            }
            None => {
                known.insert((place.clone(), path.clone()), planned.len());
                planned.push(Planned { place, path, kept, mode, sha256, left });
            }
        }
    }
    planned
}
