//! Takes measurements: warm-ups, samples, and their rows in the table.

use std::time::{Duration, Instant};

/// The number of runs before the measured ones.
pub(crate) const WARM_UPS: usize = 5;

/// One line of the table.
pub(crate) struct Row {
    pub(crate) what: String,
    pub(crate) min: String,
    pub(crate) p50: String,
    pub(crate) p99: String,
    pub(crate) against: String,
    pub(crate) ratio: String,
    pub(crate) target: String,
}

/// Sorted durations.
#[derive(Clone)]
pub(crate) struct Samples(Vec<Duration>);

impl Samples {
    pub(crate) fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// Measures two actions alternately, so that a drifting machine affects both alike. Each begins with the warm-ups.
    pub(crate) fn in_turn(
        count: usize,
        turn: usize,
        mut one: impl FnMut(),
        mut other: impl FnMut(),
    ) -> (Self, Self) {
        (0..WARM_UPS).for_each(|_| one());
        (0..WARM_UPS).for_each(|_| other());
        let (mut ones, mut others) = (Vec::new(), Vec::new());
        while ones.len() < count {
            ones.extend((0..turn).map(|_| timed(&mut one)));
            others.extend((0..turn).map(|_| timed(&mut other)));
        }
        (Self::new(ones), Self::new(others))
    }

    pub(crate) fn min(&self) -> Duration {
        self.0[0]
    }

    pub(crate) fn p50(&self) -> Duration {
        self.0[self.0.len() / 2]
    }

    pub(crate) fn p99(&self) -> Duration {
        self.0[(self.0.len() * 99 / 100).min(self.0.len() - 1)]
    }

    /// A row without a comparison.
    pub(crate) fn row(&self, what: &str) -> Row {
        Row {
            what: what.to_owned(),
            min: shown(self.min()),
            p50: shown(self.p50()),
            p99: shown(self.p99()),
            against: String::new(),
            ratio: String::new(),
            target: String::new(),
        }
    }

    /// A row whose median is divided by another's.
    pub(crate) fn row_against(&self, what: &str, other: &Samples, name: &str, target: &str) -> Row {
        let ratio = self.p50().as_secs_f64() / other.p50().as_secs_f64();
        Row {
            against: name.to_owned(),
            ratio: format!("{ratio:.2} ×"),
            target: target.to_owned(),
            ..self.row(what)
        }
    }

    /// A row whose 99th percentile is divided by its limit.
    pub(crate) fn row_within(&self, what: &str, limit: Duration) -> Row {
        let ratio = self.p99().as_secs_f64() / limit.as_secs_f64();
        Row {
            against: format!("{} ms at p99", limit.as_millis()),
            ratio: format!("{ratio:.2} ×"),
            target: "≤ 1.0 ×".to_owned(),
            ..self.row(what)
        }
    }

    /// A row whose median is compared with a limit.
    pub(crate) fn row_mostly_within(&self, what: &str, limit: Duration) -> Row {
        let ratio = self.p50().as_secs_f64() / limit.as_secs_f64();
        Row {
            against: format!("{} ms at p50", limit.as_millis()),
            ratio: format!("{ratio:.2} ×"),
            ..self.row_within(what, limit)
        }
    }

    /// A row of a rate per second, for `count` operations in a sample.
    pub(crate) fn rate(&self, what: &str, count: usize) -> Row {
        let rate = |duration: Duration| format!("{:.0}/s", count as f64 / duration.as_secs_f64());
        Row { min: rate(self.min()), p50: rate(self.p50()), p99: rate(self.p99()), ..self.row(what) }
    }

    /// A row of a rate, with its ratio to another rate.
    pub(crate) fn rate_against(
        &self,
        what: &str,
        count: usize,
        other: &Samples,
        name: &str,
        target: &str,
    ) -> Row {
        Row {
            against: name.to_owned(),
            target: target.to_owned(),
            ratio: self.speed(other),
            ..self.rate(what, count)
        }
    }

    /// A row of throughput, for `bytes` in a sample.
    pub(crate) fn throughput(&self, what: &str, bytes: u64) -> Row {
        let rate = |duration: Duration| format!("{:.0} MB/s", bytes as f64 / 1e6 / duration.as_secs_f64());
        Row { min: rate(self.min()), p50: rate(self.p50()), p99: rate(self.p99()), ..self.row(what) }
    }

    /// A row of throughput, with its ratio to another throughput.
    pub(crate) fn throughput_against(
        &self,
        what: &str,
        bytes: u64,
        other: &Samples,
        name: &str,
        target: &str,
    ) -> Row {
        let row = self.throughput(what, bytes);
        Row { against: name.to_owned(), target: target.to_owned(), ratio: self.speed(other), ..row }
    }

    /// Returns how many times faster these samples are than the others.
    fn speed(&self, other: &Samples) -> String {
        format!("{:.2} ×", other.p50().as_secs_f64() / self.p50().as_secs_f64())
    }
}

/// Several runs of one measurement, each with everything restarted. The median run counts.
pub(crate) struct Runs<R> {
    sorted: Vec<R>,
    value: fn(&R) -> f64,
}

impl<R> Runs<R> {
    /// Calls `run` `count` times; `value` selects the number by which the runs are sorted.
    pub(crate) fn of(count: usize, mut run: impl FnMut() -> R, value: fn(&R) -> f64) -> Self {
        let mut sorted: Vec<R> = (0..count).map(|_| run()).collect();
        sorted.sort_by(|one, other| value(one).total_cmp(&value(other)));
        Self { sorted, value }
    }

    pub(crate) fn middle(&self) -> &R {
        &self.sorted[self.sorted.len() / 2]
    }

    /// The median value, and the smallest and largest value.
    pub(crate) fn shown(&self, show: impl Fn(f64) -> String) -> String {
        let count = self.sorted.len();
        let show = |run: &R| show((self.value)(run));
        let (least, most) = (show(&self.sorted[0]), show(&self.sorted[count - 1]));
        format!("{} ({least} to {most} in {count} runs)", show(self.middle()))
    }
}

fn timed(action: &mut impl FnMut()) -> Duration {
    let start = Instant::now();
    action();
    start.elapsed()
}

/// Formats a duration in a suitable unit.
pub(crate) fn shown(duration: Duration) -> String {
    let microseconds = duration.as_secs_f64() * 1e6;
    if microseconds < 10_000.0 {
        format!("{microseconds:.0} µs")
    } else {
        format!("{:.1} ms", microseconds / 1e3)
    }
}
