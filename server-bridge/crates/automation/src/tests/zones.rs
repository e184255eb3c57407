//! The zones and the times of the schedules of `slots`, and the slots that they must have, computed from the calendar without a cron pattern.

use api::automation::Schedule;
use api::words::MissedSlots;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, ToSpan as _, civil};

/// Zones, each with a time of day. Many of these times are skipped or occur twice when the clocks change: by half an hour (Lord Howe), by two (Troll), at
/// midnight (Cairo, Beirut, Havana, Santiago), before midnight (Nuuk), at 2:45 (Chatham), or to and from Ramadan (Casablanca).
pub(super) const DAILY: [(&str, i8, i8); 20] = [
    ("Europe/Berlin", 2, 30),
    ("Europe/London", 1, 15),
    ("Europe/Moscow", 3, 0),
    ("Antarctica/Troll", 1, 45),
    ("Africa/Casablanca", 2, 20),
    ("Africa/Cairo", 0, 10),
    ("Asia/Beirut", 0, 30),
    ("Asia/Gaza", 2, 5),
    ("Asia/Kathmandu", 9, 15),
    ("Asia/Tehran", 0, 0),
    ("Australia/Lord_Howe", 2, 10),
    ("Australia/Eucla", 23, 45),
    ("Pacific/Chatham", 3, 15),
    ("Pacific/Apia", 3, 30),
    ("Pacific/Kiritimati", 0, 5),
    ("America/St_Johns", 2, 1),
    ("America/Havana", 0, 59),
    ("America/Santiago", 0, 20),
    ("America/Nuuk", 0, 40),
    ("America/New_York", 1, 30),
];

/// How a job of the test comes due.
#[derive(Clone, Debug)]
pub(super) enum Times {
    /// Once a day, at this time in this zone.
    Daily(&'static str, i8, i8),
    /// In each real hour of the zone whose number is a multiple of this, at this minute.
    Hours(&'static str, i8, i8),
    /// Each of this many hours.
    Every(i64),
}

/// A job of the test.
#[derive(Clone, Debug)]
pub(super) struct Scheduled {
    pub(super) name: String,
    pub(super) times: Times,
    pub(super) missed: MissedSlots,
    pub(super) has_one_chat: bool,
}

/// All jobs of the test.
pub(super) fn all() -> Vec<Scheduled> {
    let daily = DAILY.iter().map(|(zone, hour, minute)| Times::Daily(zone, *hour, *minute));
    let others = [Times::Hours("Australia/Lord_Howe", 12, 30), Times::Every(7)];
    let policies = [MissedSlots::Once, MissedSlots::Skip, MissedSlots::All];
    let job = |(place, times): (usize, Times)| Scheduled {
        name: format!("job-{place}"),
        times,
        missed: policies[place % policies.len()].clone(),
        has_one_chat: place % 2 == 0,
    };
    daily.chain(others).enumerate().map(job).collect()
}

impl Times {
    pub(super) fn schedule(&self) -> Schedule {
        let cron = |zone: &str, cron: String| Schedule {
            cron: Some(cron),
            zone: Some(zone.to_owned()),
            ..Schedule::default()
        };
        match self {
            Self::Daily(zone, hour, minute) => cron(zone, format!("{minute} {hour} * * *")),
            Self::Hours(zone, hours, minute) => cron(zone, format!("{minute} */{hours} * * *")),
            Self::Every(hours) => Schedule { every: Some(format!("{hours}h")), ..Schedule::default() },
        }
    }

    /// The slots after the Unix time `from_ms` and up to `to_ms`, in their order.
    pub(super) fn slots(&self, from_ms: i64, to_ms: i64) -> Vec<i64> {
        let time = |ms: i64| Timestamp::from_millisecond(ms).unwrap();
        let all: Vec<i64> = match self {
            Self::Daily(zone, hour, minute) => {
                let zone = TimeZone::get(zone).unwrap();
                let day = |ms: i64| zone.to_datetime(time(ms)).date();
                let (mut days, last) =
                    (vec![day(from_ms).yesterday().unwrap()], day(to_ms).tomorrow().unwrap());
                while *days.last().unwrap() < last {
                    days.push(days.last().unwrap().tomorrow().unwrap());
                }
                days.into_iter().map(|day| instant(&zone, day.at(*hour, *minute, 0, 0))).collect()
            }
            Self::Hours(zone, hours, minute) => {
                let zone = TimeZone::get(zone).unwrap();
                let is_one = |at: &Timestamp| {
                    let shown = zone.to_datetime(*at);
                    shown.minute() == *minute && shown.hour() % hours == 0
                };
                let minutes = (from_ms / 60_000..=to_ms / 60_000).map(|minute| time(minute * 60_000));
                minutes.filter(is_one).map(|at| at.as_millisecond()).collect()
            }
            Self::Every(hours) => {
                let every_ms = hours * 3_600_000;
                (1..=(to_ms - from_ms) / every_ms).map(|number| from_ms + number * every_ms).collect()
            }
        };
        all.into_iter().filter(|slot| (from_ms + 1..=to_ms).contains(slot)).collect()
    }
}

/// The instant of a time of day: the first of two, and right after the gap for one that is skipped.
fn instant(zone: &TimeZone, at: civil::DateTime) -> i64 {
    let instant = match zone.to_ambiguous_timestamp(at).offset() {
        AmbiguousOffset::Unambiguous { offset } => offset.to_timestamp(at).unwrap(),
        AmbiguousOffset::Fold { before, .. } => before.to_timestamp(at).unwrap(),
        AmbiguousOffset::Gap { after, .. } => {
            let before_the_gap = after.to_timestamp(at).unwrap();
            zone.following(before_the_gap).next().unwrap().timestamp()
        }
    };
    instant.as_millisecond()
}

#[test]
fn these_times_meet_changes_of_the_clocks_of_every_kind() {
    let (mut skipped, mut doubled) = (Vec::new(), Vec::new());
    for (name, hour, minute) in DAILY {
        let zone = TimeZone::get(name).unwrap();
        let days = (0..365).map(|day| civil::date(2026, 1, 1).checked_add(day.days()).unwrap());
        for day in days {
            match zone.to_ambiguous_timestamp(day.at(hour, minute, 0, 0)).offset() {
                AmbiguousOffset::Gap { .. } => skipped.push(name),
                AmbiguousOffset::Fold { .. } => doubled.push(name),
                AmbiguousOffset::Unambiguous { .. } => {}
            }
        }
    }
    println!("skipped: {skipped:?}, doubled: {doubled:?}");
    assert!(skipped.len() >= 8 && doubled.len() >= 5, "skipped: {skipped:?}, doubled: {doubled:?}");
}

#[test]
fn a_day_that_a_zone_leaves_out_has_its_slot_right_after_it() {
    // Samoa had no 30 December 2011.
    let noon = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
    let daily = Times::Daily("Pacific/Apia", 9, 15);
    let slots = daily.slots(noon("2011-12-29T12:00:00Z"), noon("2012-01-01T12:00:00Z"));
    let when = crate::when::When::read(&daily.schedule(), 0).unwrap();
    let mut time = noon("2011-12-29T12:00:00Z");
    for slot in slots {
        assert_eq!(
            when.after(time).map(|ms| Timestamp::from_millisecond(ms).unwrap()),
            Timestamp::from_millisecond(slot).ok()
        );
        time = slot;
    }
}
