//! Joins events that arrive in several frames.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::FRAME_MAX_BYTES;

/// The maximum number of fragments of one event: more than the largest event would need with the smallest fragments observed so far.
const FRAGMENTS_MAX: usize = 256;

/// The limit on incomplete events; when it is exceeded, the oldest one is dropped.
const OPEN_MAX: usize = 64;

/// How long an event may be incomplete; the official client waits as long.
const COMPLETE_WITHIN: Duration = Duration::from_secs(10);

/// The incomplete events.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    open: HashMap<String, Open>,
}

#[derive(Debug)]
struct Open {
    fragments: Vec<Option<Vec<u8>>>,
    bytes: usize,
    since: Instant,
}

impl Joiner {
    /// Adds a fragment, by the headers `message_id`, `sum` and `seq` of its frame; returns the whole event once it is complete. A repeated
    /// fragment replaces the earlier one.
    ///
    /// # Errors
    /// The reason why the fragment, or its event, is dropped; the platform sends an unacknowledged event again.
    pub(super) fn add(
        &mut self,
        id: &str,
        sum: &str,
        seq: &str,
        payload: Vec<u8>,
    ) -> Result<Option<Vec<u8>>, &'static str> {
        let now = Instant::now();
        self.open.retain(|_, open| now.duration_since(open.since) < COMPLETE_WITHIN);
        let sum: usize = sum.parse().map_err(|_| "the count of fragments is not a number")?;
        let seq: usize = seq.parse().map_err(|_| "the index of a fragment is not a number")?;
        if !(1..=FRAGMENTS_MAX).contains(&sum) || seq >= sum {
            return Err("the count of fragments is out of range");
        }
        if sum == 1 {
            return Ok(Some(payload));
        }
        if !self.open.contains_key(id) && self.open.len() >= OPEN_MAX {
            let oldest = self.open.iter().min_by_key(|(_, open)| open.since).map(|(id, _)| id.clone());
            oldest.and_then(|oldest| self.open.remove(&oldest));
        }
        let new = || Open { fragments: vec![None; sum], bytes: 0, since: now };
        let open = self.open.entry(id.to_owned()).or_insert_with(new);
        if open.fragments.len() != sum {
            self.open.remove(id);
            return Err("the count of fragments changed between fragments of one event");
        }
        open.bytes += payload.len();
        if let Some(before) = open.fragments[seq].replace(payload) {
            open.bytes -= before.len();
        }
        if open.bytes > FRAME_MAX_BYTES {
            self.open.remove(id);
            return Err("an event is too large");
        }
        if open.fragments.contains(&None) {
            return Ok(None);
        }
        let whole = self.open.remove(id).map(|open| open.fragments.into_iter().flatten().flatten().collect());
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn fragments_in_any_order_are_one_event() {
        let mut joiner = Joiner::default();
        assert_eq!(joiner.add("a", "3", "2", b"c".to_vec()), Ok(None));
        assert_eq!(joiner.add("b", "1", "0", b"x".to_vec()), Ok(Some(b"x".to_vec())));
        assert_eq!(joiner.add("a", "3", "0", b"a".to_vec()), Ok(None));
        assert_eq!(joiner.add("a", "3", "0", b"a".to_vec()), Ok(None));
        assert_eq!(joiner.add("a", "3", "1", b"b".to_vec()), Ok(Some(b"abc".to_vec())));
        assert!(joiner.open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn false_numbers_are_refused_and_take_no_memory() {
        let mut joiner = Joiner::default();
        for (sum, seq) in [("0", "0"), ("2147483648", "0"), ("-1", "0"), ("2", "2"), ("", ""), ("257", "1")] {
            joiner.add("a", sum, seq, Vec::new()).unwrap_err();
        }
        assert!(joiner.open.is_empty());
        assert_eq!(joiner.add("a", "2", "0", Vec::new()), Ok(None));
        joiner.add("a", "3", "2", Vec::new()).unwrap_err();
        assert!(joiner.open.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_never_completes_is_given_up() {
        let mut joiner = Joiner::default();
        for number in 0..1000 {
            assert_eq!(joiner.add(&number.to_string(), "2", "0", vec![0; 10]), Ok(None));
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        assert_eq!(joiner.open.len(), OPEN_MAX);
        tokio::time::advance(COMPLETE_WITHIN).await;
        assert_eq!(joiner.add("999", "2", "1", b"x".to_vec()), Ok(None));
        assert_eq!(joiner.open.len(), 1);
        joiner.add("large", "2", "0", vec![0; FRAME_MAX_BYTES + 1]).unwrap_err();
    }
}
