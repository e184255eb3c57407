//! What has to become of each file: as it was before the first of the turns that changed it.

use std::collections::HashMap;

use store::{Checkpoint, Kept, Left};

/// A file, and what it has to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    pub(super) place: String,
    pub(super) path: String,
    /// What it has to become.
    pub(super) kept: Kept,
    pub(super) mode: Option<i64>,
    pub(super) sha256: Option<String>,
    /// What the last of the turns left there.
    pub(super) left: Left,
}

/// One for each file that was changed, in the order that changes are taken back in; `checkpoints` come with the last first.
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
