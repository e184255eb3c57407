use jiff::ToSpan;

use super::*;

fn ms(text: &str) -> i64 {
    Timestamp::from_str(text).unwrap().as_millisecond()
}

fn cron(pattern: &str, zone: &str) -> When {
    let (cron, zone) = (Some(pattern.to_owned()), Some(zone.to_owned()));
    When::read(&Schedule { cron, zone, ..Schedule::default() }, 0).unwrap()
}

fn slots(when: &When, from: &str, to: &str) -> Vec<String> {
    let (mut time, end) = (ms(from), ms(to));
    let mut slots = Vec::new();
    while let Some(next) = when.after(time).filter(|next| *next < end) {
        slots.push(Timestamp::from_millisecond(next).unwrap().to_string());
        time = next;
    }
    slots
}

#[test]
fn a_fixed_time_comes_once_on_the_days_that_change_the_clocks() {
    let nightly = cron("30 2 * * *", "Europe/Berlin");
    // On 29 March 2026 there is no 02:30, and on 25 October there are two.
    assert_eq!(
        slots(&nightly, "2026-03-28T00:00:00Z", "2026-03-31T00:00:00Z"),
        ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
    );
    assert_eq!(
        slots(&nightly, "2026-10-24T00:00:00Z", "2026-10-27T00:00:00Z"),
        ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
}

#[test]
fn each_hour_is_each_real_hour() {
    let hourly = cron("0 * * * *", "Europe/Berlin");
    assert_eq!(slots(&hourly, "2026-03-28T22:59:00Z", "2026-03-29T22:00:00Z").len(), 23);
    assert_eq!(slots(&hourly, "2026-10-24T21:59:00Z", "2026-10-25T23:00:00Z").len(), 25);
}

#[test]
fn a_year_of_each_day_in_twenty_zones_has_365_slots_at_the_right_time_of_day() {
    let zones = "Europe/Berlin Europe/London Europe/Moscow America/New_York America/Sao_Paulo America/St_Johns America/Los_Angeles \
        Asia/Shanghai Asia/Tokyo Asia/Kolkata Asia/Kathmandu Asia/Tehran Asia/Gaza Australia/Lord_Howe Australia/Sydney Pacific/Auckland \
        Pacific/Chatham Pacific/Apia Africa/Cairo America/Havana";
    for name in zones.split_whitespace() {
        let when = cron("15 9 * * *", name);
        let zone = TimeZone::get(name).unwrap();
        let mut day = civil::date(2026, 1, 1).at(9, 15, 0, 0);
        let mut time = day.to_zoned(zone.clone()).unwrap().timestamp().as_millisecond() - 1;
        for _ in 0..365 {
            let slot = when.after(time).unwrap();
            assert_eq!(
                slot,
                day.to_zoned(zone.clone()).unwrap().timestamp().as_millisecond(),
                "{name} {day}"
            );
            (time, day) = (slot, day + 1.day());
        }
    }
}

#[test]
fn what_cannot_be_a_schedule_is_refused_with_what_to_write() {
    let now = ms("2026-11-27T00:00:00Z");
    let of = |at: &str, every: &str, cron: &str, zone: &str| {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let schedule = Schedule { at: some(at), every: some(every), cron: some(cron), zone: some(zone) };
        When::begin(&schedule, now).map(|(_, next)| next).map_err(|error| error.message())
    };
    for (at, every, cron, zone, word) in [
        ("", "", "", "", "exactly one"),
        ("2027-01-01T00:00", "1h", "", "", "exactly one"),
        ("2026-11-26T23:59", "", "", "", "in the past"),
        ("9999-01-01T00:00", "", "", "", "ten years"),
        ("tomorrow", "", "", "", "cannot be read"),
        ("2026-02-30T00:00", "", "", "", "cannot be read"),
        ("", "59s", "", "", "60 s"),
        ("", "1", "", "", "60 s"),
        ("", "-5m", "", "", "60 s"),
        ("", "99999999999d", "", "", "60 s"),
        ("", "1ü", "", "", "60 s"),
        ("", "", "*/0 * * * *", "", "cron pattern"),
        ("", "", "0 0 30 2 *", "", "no time matches"),
        ("", "", "* * * * * *", "", "cron pattern"),
        ("", "", "61 * * * *", "", "cron pattern"),
        ("", "", "0 9 * *", "", "cron pattern"),
        ("", "", "0 9 * * MON", "Mars/Olympus", "time zone"),
        ("", "", &"1,".repeat(150), "", "too long"),
    ] {
        let why = of(at, every, cron, zone).unwrap_err();
        assert!(why.contains(word), "{at}{every}{cron}{zone}: {why}");
    }
    assert_eq!(of("2026-12-01T09:00", "", "", "Asia/Shanghai"), Ok(ms("2026-12-01T01:00:00Z")));
    assert_eq!(of("2026-12-01T09:00:00+01:00", "", "", "Asia/Shanghai"), Ok(ms("2026-12-01T08:00:00Z")));
    assert_eq!(of("", "90s", "", ""), Ok(now + 90_000));
    assert_eq!(of("", "", "0 9 * * MON", "UTC"), Ok(ms("2026-11-30T09:00:00Z")));
}

#[test]
fn missed_slots_are_run_as_the_schedule_says_and_each_is_told() {
    let every = When::Every { every_ms: 600_000, from_ms: 0 };
    let minute = |minute: i64| minute * 60_000;
    let on_time = every.come(minute(10), minute(10) + 5, &MissedSlots::Skip);
    assert_eq!(on_time, Come { runs: vec![minute(10)], next: Some(minute(20)), ..Come::default() });
    let once = every.come(minute(10), minute(45), &MissedSlots::Once);
    assert_eq!(
        (once.runs, once.missed, once.next),
        (vec![minute(40)], vec![minute(10), minute(20), minute(30)], Some(minute(50)))
    );
    let late = When::At(minute(10)).come(minute(10), minute(80), &MissedSlots::Once);
    assert_eq!((late.runs, late.missed, late.next), (vec![], vec![minute(10)], None));
    let skip = every.come(minute(10), minute(45), &MissedSlots::Skip);
    assert_eq!((skip.runs, skip.missed.len()), (vec![], 4));
    let all = every.come(minute(10), minute(10_000) + 1, &MissedSlots::All);
    assert_eq!((all.runs.len(), all.missed.len(), all.earlier), (10, 100, 1000 - 110));
    let years = every.come(minute(10), minute(10 * 366 * 24 * 60), &MissedSlots::Once);
    assert!(years.next.unwrap() > minute(10 * 366 * 24 * 60) && years.missed.len() == MISSED_ROWS);
}

#[test]
fn a_clock_that_was_set_back_brings_no_slot_again() {
    let every = When::Every { every_ms: 600_000, from_ms: 1_000_000 };
    assert_eq!(every.after(0), Some(1_600_000));
    assert_eq!(every.after(1_600_000), Some(2_200_000));
}
