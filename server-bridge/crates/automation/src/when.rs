//! The slots of a schedule: the points in time at which it is due.
//!
//! Times of day are in the schedule's time zone. A fixed time that the clocks skip when summer time begins has its slot right after the gap. A fixed
//! time that the clocks show twice has one slot, the first. `*` and `*/n` in the hours field match every hour that actually passes. Vixie's `cron`
//! and its successors do the same.

use std::str::FromStr;

use api::automation::Schedule;
use croner::Cron;
use croner::errors::CronError;
use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned, civil};

use crate::error::{Error, Result};
use crate::limits::{
    AT_MAX_AHEAD_MS, EVERY_MAX_SECONDS, EVERY_MIN_SECONDS, MISSED_ALL_RUNS, MISSED_COUNTED, MISSED_ONCE_MS,
    MISSED_ROWS, ON_TIME_MS, PATTERN_MAX_BYTES,
};
use api::words::MissedSlots;

/// The longest gap between two times of day that the search of a pattern's times crosses, in seconds.
const SEARCHED_GAP_SECONDS: i32 = 7200;
/// How many changes of a zone's clocks are searched for a longer gap.
const CHANGES_SEARCHED: usize = 8;

/// The rule that determines a schedule's slots.
#[derive(Clone, Debug)]
pub(crate) enum When {
    /// Once, at this Unix time in milliseconds.
    At(i64),
    /// Every `every_ms` milliseconds, counted from `from_ms`.
    Every {
        /// The time between two slots, in milliseconds.
        every_ms: i64,
        /// The time from which slots are counted, one interval before the first slot, in Unix milliseconds.
        from_ms: i64,
    },
    /// At the times of a pattern in a time zone.
    Cron {
        /// The cron pattern.
        pattern: Box<Cron>,
        /// The time zone in which the pattern is evaluated.
        zone: TimeZone,
    },
}

/// The slots that have become due, and the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Come {
    /// The slots to run, the oldest first.
    pub(crate) runs: Vec<i64>,
    /// The newest slots to skip, the oldest of them first.
    pub(crate) missed: Vec<i64>,
    /// The number of skipped slots before those in `missed`.
    pub(crate) earlier: usize,
    /// The next slot.
    pub(crate) next: Option<i64>,
}

impl When {
    /// Reads a schedule that was created at the Unix time `made_ms`.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what is wrong with the schedule.
    pub(crate) fn read(schedule: &Schedule, made_ms: i64) -> Result<Self> {
        let zone = zone(schedule.zone.as_deref())?;
        match (&schedule.at, &schedule.every, &schedule.cron) {
            (Some(at), None, None) => Ok(Self::At(time(at, &zone)?)),
            (None, Some(every), None) => Ok(Self::Every { every_ms: span(every)? * 1000, from_ms: made_ms }),
            (None, None, Some(cron)) => Ok(Self::Cron { pattern: Box::new(pattern(cron)?), zone }),
            _ => Err(Error::invalid("a schedule needs exactly one of at, every and cron")),
        }
    }

    /// Reads a new schedule, which needs a slot after `now_ms`; also returns the first such slot.
    ///
    /// # Errors
    /// [`Error::Refused`], which states what is wrong with the schedule.
    pub(crate) fn begin(schedule: &Schedule, now_ms: i64) -> Result<(Self, i64)> {
        let when = Self::read(schedule, now_ms)?;
        match (&when, when.after(now_ms)) {
            (Self::At(at), Some(_)) if at - now_ms > AT_MAX_AHEAD_MS => Err(Error::invalid(
                "the time of a schedule is more than ten years away; choose an earlier one",
            )),
            (_, Some(next)) => Ok((when, next)),
            (Self::At(_), None) => {
                Err(Error::invalid("the time of a schedule is in the past; choose one that is still to come"))
            }
            (_, None) => Err(Error::invalid("no time matches this schedule; choose another pattern")),
        }
    }

    /// Returns the first slot after a time.
    pub(crate) fn after(&self, time_ms: i64) -> Option<i64> {
        match self {
            Self::At(at) => (*at > time_ms).then_some(*at),
            Self::Every { every_ms, from_ms } => {
                let passed = (time_ms - from_ms).max(0) / every_ms;
                from_ms.checked_add(every_ms.checked_mul(passed + 1)?)
            }
            Self::Cron { pattern, zone } => {
                let from = Timestamp::from_millisecond(time_ms).ok()?.to_zoned(zone.clone());
                let next: Result<Zoned, CronError> = pattern.find_next_occurrence(&from, false);
                let next = match next {
                    Ok(next) => Some(next.timestamp()),
                    Err(CronError::TimeSearchLimitExceeded) => after_long_gap(zone, from.timestamp()),
                    Err(_) => None,
                };
                // The next slot must be later than this one, or the schedule would never move forward.
                next.map(Timestamp::as_millisecond).filter(|next| *next > time_ms)
            }
        }
    }

    /// Returns the slots that have become due by `now_ms`; `slot` is the first of them.
    pub(crate) fn come(&self, slot: i64, now_ms: i64, missed: &MissedSlots) -> Come {
        let mut slots = vec![slot];
        let mut earlier = 0;
        let mut next = self.after(slot);
        while let Some(come) = next.filter(|next| *next <= now_ms) {
            if slots.len() + earlier == MISSED_COUNTED {
                // There are too many slots to count, so the schedule continues with its next slot.
                next = self.after(now_ms);
                break;
            }
            slots.push(come);
            if slots.len() > 2 * MISSED_ROWS {
                earlier += MISSED_ROWS;
                slots.drain(..MISSED_ROWS);
            }
            next = self.after(come);
        }
        let late = |slot: i64| now_ms - slot;
        let is_run = |place: usize, slot: i64| {
            let from_the_newest = slots.len() - place;
            late(slot) <= ON_TIME_MS
                || match missed {
                    MissedSlots::Skip => false,
                    MissedSlots::All => from_the_newest <= MISSED_ALL_RUNS,
                    MissedSlots::Once | MissedSlots::Unknown(_) => {
                        from_the_newest == 1 && late(slot) <= MISSED_ONCE_MS
                    }
                }
        };
        let (mut runs, mut left) = (Vec::new(), Vec::new());
        for (place, slot) in slots.iter().copied().enumerate() {
            if is_run(place, slot) { runs.push(slot) } else { left.push(slot) }
        }
        let more = left.len().saturating_sub(MISSED_ROWS);
        Come { runs, earlier: earlier + more, missed: left.split_off(more), next }
    }
}

/// Returns the end of the next gap that is too long for the search of the pattern's times: a country left out a day, and a time in it is due.
fn after_long_gap(zone: &TimeZone, from: Timestamp) -> Option<Timestamp> {
    let mut before = zone.to_offset(from).seconds();
    for change in zone.following(from).take(CHANGES_SEARCHED) {
        let after = change.offset().seconds();
        if after - before > SEARCHED_GAP_SECONDS {
            return Some(change.timestamp());
        }
        before = after;
    }
    None
}

/// Finds a time zone by its name; UTC if there is no name.
fn zone(name: Option<&str>) -> Result<TimeZone> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(TimeZone::UTC) };
    let unknown = || {
        Error::invalid("the time zone is not known; use a name such as Europe/Berlin, Asia/Shanghai or UTC")
    };
    if name.len() > PATTERN_MAX_BYTES {
        return Err(unknown());
    }
    TimeZone::get(name).map_err(|_| unknown())
}

/// Parses a point in time, with an offset or in the time zone; returns Unix milliseconds.
fn time(text: &str, zone: &TimeZone) -> Result<i64> {
    let text = text.trim();
    if text.len() <= PATTERN_MAX_BYTES {
        if let Ok(time) = Timestamp::from_str(text) {
            return Ok(time.as_millisecond());
        }
        if let Ok(time) = civil::DateTime::from_str(text)
            && let Ok(time) = time.to_zoned(zone.clone())
        {
            return Ok(time.timestamp().as_millisecond());
        }
    }
    Err(Error::invalid(
        "the time of a schedule cannot be read; write it like 2026-12-01T09:00, or with an offset like 2026-12-01T09:00:00+01:00",
    ))
}

/// Parses the time between two slots; returns seconds.
fn span(text: &str) -> Result<i64> {
    let text = text.trim();
    let unit = match text.as_bytes().last() {
        Some(b's') => 1,
        Some(b'm') => 60,
        Some(b'h') => 3600,
        Some(b'd') => 24 * 3600,
        _ => 0,
    };
    let number = text.get(..text.len().saturating_sub(1)).and_then(|number| number.parse::<u32>().ok());
    let seconds = i64::from(number.unwrap_or(0)) * unit;
    if (EVERY_MIN_SECONDS..=EVERY_MAX_SECONDS).contains(&seconds) {
        return Ok(seconds);
    }
    Err(Error::invalid(format!(
        "every needs a number and a unit, such as 90s, 15m, 2h or 1d, from {EVERY_MIN_SECONDS} s to 366 d"
    )))
}

/// Parses a cron pattern of five fields.
fn pattern(text: &str) -> Result<Cron> {
    let wrong = |why: String| {
        Error::invalid(format!(
            "the cron pattern cannot be read ({why}); write the five fields minute, hour, day of the month, month and day of the week, such as 0 9 * * 1-5"
        ))
    };
    if text.len() > PATTERN_MAX_BYTES {
        return Err(wrong("it is too long".to_owned()));
    }
    let parser = CronParser::builder().seconds(Seconds::Disallowed).year(Year::Disallowed).build();
    parser.parse(text.trim()).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests;
