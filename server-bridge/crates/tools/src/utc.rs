//! Times as people and models read them, always UTC.

const DAY_MS: i64 = 24 * 60 * 60 * 1000;
const MINUTE_MS: i64 = 60 * 1000;

/// A time in the form `2026-11-22 08:15`.
pub(super) fn shown(at_ms: i64) -> String {
    let minutes = at_ms.rem_euclid(DAY_MS) / MINUTE_MS;
    format!("{} {:02}:{:02}", utc_day(at_ms.div_euclid(DAY_MS)), minutes / 60, minutes % 60)
}

/// A day, counted from 1970-01-01, as a date: `2026-11-22`.
pub fn utc_day(days: i64) -> String {
    let (year, month, day) = date(days);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Parses `2026-11-22`, or a date and a time with a space or a T between them: `2026-11-22T08:15`, with or without seconds and a Z.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.trim().trim_end_matches('Z');
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let mut parts = time.split(':').map(|part| part.parse::<f64>().ok());
    let (hours, minutes, seconds) = (parts.next()??, parts.next()??, parts.next().unwrap_or(Some(0.0))?);
    let is_time =
        (0.0..24.0).contains(&hours) && (0.0..60.0).contains(&minutes) && (0.0..61.0).contains(&seconds);
    let is_day = (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_time || !is_day {
        return None;
    }
    let within = ((hours * 60.0 + minutes) * 60.0 + seconds) * 1000.0;
    Some(days(year, month, day) * DAY_MS + within as i64)
}

/// The number of days from 1970-01-01 to a date of the Gregorian calendar. Years begin in March here, so that a leap day is the last day of its year.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date of a day; the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_written_as_dates() {
        for (day, text) in [
            (0, "1970-01-01"),
            (59, "1970-03-01"),
            (11_016, "2000-02-29"),
            (19_782, "2024-02-29"),
            (20_779, "2026-11-22"),
        ] {
            assert_eq!(utc_day(day), text);
        }
    }

    #[test]
    fn times_are_read_as_they_are_shown() {
        for (text, at_ms) in [
            ("1970-01-01 00:00", 0),
            ("2000-02-29 12:30", 951_827_400_000),
            ("2026-11-22 08:15", 1_795_335_300_000),
            ("2100-03-01 23:59", 4_107_628_740_000),
        ] {
            assert_eq!((shown(at_ms).as_str(), parse(text)), (text, Some(at_ms)));
        }
        assert_eq!(parse("2026-11-22"), parse("2026-11-22T00:00:00Z"));
        assert_eq!(parse("1970-01-01T00:00:01.5Z"), Some(1500));
        for bad in
            ["", "yesterday", "2026-13-01", "2026-11-22T25:00", "2026-11", "99999999999-1-1", "2026-01-01T"]
        {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert!((0..200_000).all(|day| {
            let (year, month, of_month) = date(day);
            days(year, month, of_month) == day
        }));
    }
}
