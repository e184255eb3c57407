//! Live output, gathered into few pieces at a readable pace.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{
    LIVE_BURST_BYTES, LIVE_EVENT_COST_BYTES, LIVE_EVENT_MAX_BYTES, LIVE_RATE_BYTES_PER_MS, LIVE_WINDOW_MS,
};

/// Gathers output, in the order it arrived, until it is due.
pub struct Live<C> {
    gathered: Vec<(C, String)>,
    cost_bytes: usize,
    due: Option<Instant>,
    allowance_bytes: usize,
    allowance_at: Instant,
    skipped_chars: usize,
}

impl<C: Copy + PartialEq> Live<C> {
    /// An empty gatherer; the pace is counted from `now` on.
    pub fn new(now: Instant) -> Self {
        Self {
            gathered: Vec::new(),
            cost_bytes: 0,
            due: None,
            allowance_bytes: LIVE_BURST_BYTES,
            allowance_at: now,
            skipped_chars: 0,
        }
    }

    /// The time when the gathered output should be sent; `None` if there is nothing.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Adds the next piece. If this returns true, call [`Live::take`] at once.
    pub fn push(&mut self, now: Instant, channel: C, text: &str) -> bool {
        if text.is_empty() {
            return false;
        }
        match self.gathered.last_mut() {
            Some((last, gathered)) if *last == channel => gathered.push_str(text),
            _ => {
                self.cost_bytes += LIVE_EVENT_COST_BYTES;
                self.gathered.push((channel, text.to_owned()));
            }
        }
        self.cost_bytes += text.len();
        self.due.get_or_insert(now + Duration::from_millis(LIVE_WINDOW_MS));
        self.cost_bytes >= LIVE_EVENT_MAX_BYTES
    }

    /// The output to send now. Output above the pace is left out, with a note, translated by `say`, once the pace allows more output.
    pub fn take(&mut self, now: Instant, say: &dyn Fn(&str) -> String) -> Vec<(C, String)> {
        self.earn(now);
        self.due = None;
        let cost_bytes = std::mem::take(&mut self.cost_bytes);
        let mut gathered = std::mem::take(&mut self.gathered);
        if gathered.is_empty() {
            return gathered;
        }
        if cost_bytes > self.allowance_bytes {
            self.skipped_chars += gathered.iter().map(|(_, text)| text.chars().count()).sum::<usize>();
            return Vec::new();
        }
        self.allowance_bytes -= cost_bytes;
        if self.skipped_chars > 0 {
            let skipped = std::mem::take(&mut self.skipped_chars);
            let note = say(&format!("… {skipped} characters not shown live …"));
            gathered[0].1.insert_str(0, &format!("\n{note}\n"));
        }
        gathered
    }

    fn earn(&mut self, now: Instant) {
        let passed_ms = now.duration_since(self.allowance_at).as_millis();
        let earned = usize::try_from(passed_ms).unwrap_or(usize::MAX).saturating_mul(LIVE_RATE_BYTES_PER_MS);
        if earned > 0 {
            self.allowance_bytes = self.allowance_bytes.saturating_add(earned).min(LIVE_BURST_BYTES);
            self.allowance_at = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Channel {
        Stdout,
        Stderr,
    }

    #[test]
    fn pieces_of_one_channel_become_one_event_and_order_is_kept() {
        let now = Instant::now();
        let mut live = Live::new(now);
        assert!(live.due().is_none());
        for (channel, text) in
            [(Channel::Stdout, "a"), (Channel::Stdout, "b"), (Channel::Stderr, "c"), (Channel::Stdout, "d")]
        {
            assert!(!live.push(now, channel, text));
        }
        assert_eq!(live.due(), Some(now + Duration::from_millis(LIVE_WINDOW_MS)));
        let told = live.take(now, &str::to_owned);
        let expected = [(Channel::Stdout, "ab"), (Channel::Stderr, "c"), (Channel::Stdout, "d")];
        assert_eq!(told, expected.map(|(channel, text)| (channel, text.to_owned())));
        assert!(live.due().is_none() && live.take(now, &str::to_owned).is_empty());
    }

    #[test]
    fn a_full_event_is_told_at_once() {
        let now = Instant::now();
        assert!(Live::new(now).push(now, Channel::Stdout, &"x".repeat(LIVE_EVENT_MAX_BYTES)));
    }

    #[test]
    fn a_flood_is_skipped_and_the_gap_is_told_when_there_is_room_again() {
        let start = Instant::now();
        let mut live = Live::new(start);
        let piece = "x".repeat(LIVE_EVENT_MAX_BYTES);
        let mut told_bytes = 0;
        let mut skipped = 0;
        for _ in 0..1000 {
            live.push(start, Channel::Stdout, &piece);
            match live.take(start, &str::to_owned).first() {
                Some((_, text)) => told_bytes += text.len(),
                None => skipped += piece.len(),
            }
        }
        assert!(told_bytes <= LIVE_BURST_BYTES && told_bytes > LIVE_BURST_BYTES / 2, "{told_bytes}");
        live.push(start, Channel::Stdout, "end");
        let told = live.take(start + Duration::from_secs(1), &|note| format!("<{note}>"));
        assert_eq!(told[0].1, format!("\n<… {skipped} characters not shown live …>\nend"));
    }
}
