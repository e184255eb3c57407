//! The lane whose turn it is: a slow runner delays its own folders only, and users take turns.

use std::collections::HashSet;

use store::Lane;

use crate::limits::FOLDERS_AT_ONCE;

/// The lanes that are being worked on, and the one that began last.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    busy: HashSet<Lane>,
    last: Option<Lane>,
}

impl Lanes {
    /// Begins the first lane after the last one, among these sorted lanes with jobs, that may begin now. Uploads need no
    /// runner, so one lane of them at a time is enough.
    pub(crate) fn begin(&mut self, ready: &[Lane]) -> Option<Lane> {
        let uploads = self.busy.iter().filter(|lane| lane.place.is_empty()).count();
        let folders = self.busy.len() - uploads;
        let may_begin = |lane: &&Lane| {
            !self.busy.contains(*lane)
                && if lane.place.is_empty() { uploads == 0 } else { folders < FOLDERS_AT_ONCE }
        };
        let is_later = |lane: &&Lane| self.last.as_ref().is_none_or(|last| *lane > last);
        let (later, earlier): (Vec<&Lane>, Vec<&Lane>) = ready.iter().partition(is_later);
        let lane = later.into_iter().chain(earlier).find(may_begin)?.clone();
        self.busy.insert(lane.clone());
        self.last = Some(lane.clone());
        Some(lane)
    }

    /// Records that a lane's job is done.
    pub(crate) fn end(&mut self, lane: &Lane) {
        self.busy.remove(lane);
    }
}

#[cfg(test)]
mod tests {
    use store::UserId;

    use super::*;

    fn lane(user: i64, place: &str) -> Lane {
        Lane { user_id: UserId(user), place: place.to_owned() }
    }

    #[test]
    fn users_take_turns_and_a_slow_runner_holds_nobody_up() {
        let ready = [lane(1, ""), lane(1, "slow"), lane(2, ""), lane(2, "fast")];
        let mut lanes = Lanes::default();
        assert_eq!(lanes.begin(&ready), Some(lane(1, "")));
        assert_eq!(lanes.begin(&ready), Some(lane(1, "slow")));
        // Another user's uploads have to wait until the documents in progress are read.
        assert_eq!(lanes.begin(&ready), Some(lane(2, "fast")));
        assert_eq!(lanes.begin(&ready), None);
        lanes.end(&lane(1, ""));
        assert_eq!(lanes.begin(&ready), Some(lane(1, "")), "nothing comes after the last one");
        lanes.end(&lane(1, ""));
        assert_eq!(lanes.begin(&ready), Some(lane(2, "")), "the user whose turn it is");
        lanes.end(&lane(2, ""));
        lanes.end(&lane(2, "fast"));
        assert_eq!(lanes.begin(&ready), Some(lane(2, "fast")));
    }

    #[test]
    fn as_many_runners_are_waited_for_as_may_be() {
        let ready: Vec<Lane> = (0..40).map(|at| lane(1, &format!("runner{at:02}"))).collect();
        let mut lanes = Lanes::default();
        let begun: Vec<Lane> = std::iter::from_fn(|| lanes.begin(&ready)).collect();
        assert_eq!(begun, ready[..FOLDERS_AT_ONCE]);
        let with_uploads: Vec<Lane> = std::iter::once(lane(1, "")).chain(ready).collect();
        assert_eq!(lanes.begin(&with_uploads), Some(lane(1, "")), "uploads wait for no runner");
    }
}
