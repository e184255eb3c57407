//! Converts file modes and times from Go's form.

use proto::message::FileKind;

/// Bits of Go's FileMode in addition to the nine permission bits.
mod go {
    pub(super) const DIRECTORY: u32 = 1 << 31;
    pub(super) const SYMLINK: u32 = 1 << 27;
    pub(super) const DEVICE: u32 = 1 << 26;
    pub(super) const NAMED_PIPE: u32 = 1 << 25;
    pub(super) const SOCKET: u32 = 1 << 24;
    pub(super) const SET_UID: u32 = 1 << 23;
    pub(super) const SET_GID: u32 = 1 << 22;
    pub(super) const CHARACTER_DEVICE: u32 = 1 << 21;
    pub(super) const STICKY: u32 = 1 << 20;
    pub(super) const IRREGULAR: u32 = 1 << 19;
}

pub(super) fn kind_of(mode: u32) -> FileKind {
    const SPECIAL: u32 = go::DEVICE | go::NAMED_PIPE | go::SOCKET | go::CHARACTER_DEVICE | go::IRREGULAR;
    match mode {
        mode if mode & go::DIRECTORY != 0 => FileKind::Directory,
        mode if mode & go::SYMLINK != 0 => FileKind::Symlink,
        mode if mode & SPECIAL != 0 => FileKind::Other,
        _ => FileKind::File,
    }
}

/// Go's FileMode as the permission bits of Unix.
pub(super) fn permissions(mode: u32) -> u32 {
    let bit = |go: u32, unix: u32| if mode & go == 0 { 0 } else { unix };
    mode & 0o777 | bit(go::SET_UID, 0o4000) | bit(go::SET_GID, 0o2000) | bit(go::STICKY, 0o1000)
}

/// Permission bits of Unix as Go's FileMode, which keeps set-uid and similar bits elsewhere.
pub(super) fn go_mode(mode: u32) -> u32 {
    let bit = |unix: u32, go: u32| if mode & unix == 0 { 0 } else { go };
    mode & 0o777 | bit(0o4000, go::SET_UID) | bit(0o2000, go::SET_GID) | bit(0o1000, go::STICKY)
}

/// An RFC 3339 time as Unix milliseconds.
pub(super) fn unix_ms(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(['T', 't'])?;
    let zone_at = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = time.split_at(zone_at);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(clock, ':')?;
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let offset_minutes = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        (sign, offset) => {
            let [hours, minutes] = numbers(offset, ':')?;
            if sign == "-" { -(hours * 60 + minutes) } else { hours * 60 + minutes }
        }
    };
    let milliseconds = match fraction {
        "" => 0,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            format!("{digits:0<3}").get(..3)?.parse::<i64>().ok()?
        }
        _ => return None,
    };
    let minutes = (days_from_epoch(year, month, day) * 24 + hour) * 60 + minute - offset_minutes;
    Some((minutes * 60 + second) * 1000 + milliseconds)
}

/// `N` numbers of at most four digits.
fn numbers<const N: usize>(text: &str, separator: char) -> Option<[i64; N]> {
    let mut numbers = [0; N];
    let mut parts = text.split(separator);
    for number in &mut numbers {
        let part = parts.next().filter(|part| (1..=4).contains(&part.len()))?;
        *number = part.bytes().all(|byte| byte.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(numbers)
}

/// Days since 1970-01-01 in the Gregorian calendar: years begin in March, so that a leap day is the last of its year.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-21T20:49:28Z", Some(1_795_294_168_000)),
            ("2026-11-21T21:49:28.5+01:00", Some(1_795_294_168_500)),
            ("2000-02-29T23:59:59.123456-00:30", Some(951_870_599_123)),
            ("1969-12-31T23:59:59Z", Some(-1000)),
            ("0001-01-01T00:00:00Z", Some(-62_135_596_800_000)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-11-21 20:49:28Z", None),
            ("2026-11-21T20:49:28", None),
            ("2026-11-21T20:49:28+1", None),
            ("2026-11-21T20:49:28.xZ", None),
            ("", None),
        ] {
            assert_eq!(unix_ms(text), expected, "{text}");
        }
    }

    #[test]
    fn modes_of_go_become_ours_and_back() {
        assert_eq!((kind_of(2_147_484_141), permissions(2_147_484_141)), (FileKind::Directory, 0o755));
        assert_eq!((kind_of(420), permissions(420)), (FileKind::File, 0o644));
        assert_eq!(kind_of(go::NAMED_PIPE | 0o644), FileKind::Other);
        assert_eq!(kind_of(go::DEVICE | go::CHARACTER_DEVICE), FileKind::Other);
        for mode in [0, 0o600, 0o777, 0o4755, 0o2750, 0o1777] {
            assert_eq!(permissions(go_mode(mode)), mode);
        }
    }
}
