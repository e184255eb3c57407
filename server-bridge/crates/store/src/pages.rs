//! Pages of rows whose texts may be long: a page is limited in rows and in bytes.

use crate::limits::PAGE_MAX_BYTES;

/// Finds the last row that fits on a page, and whether more rows follow. `rows` has the id and the size in bytes of each row, in the order of the
/// page, and one row more than `limit` if there is one. Unless `limit` is 0, a page has at least one row, whatever its size.
pub(crate) fn last_fitting(rows: &[(i64, i64)], limit: i64) -> (Option<i64>, bool) {
    let mut left = PAGE_MAX_BYTES;
    let mut last = None;
    for ((id, size), number) in rows.iter().zip(1..) {
        left = left.saturating_sub(*size);
        if number > limit || left < 0 && last.is_some() {
            return (last, true);
        }
        last = Some(*id);
    }
    (last, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_at_its_rows_or_at_its_bytes() {
        const HALF: i64 = PAGE_MAX_BYTES / 2;
        for (sizes, limit, page) in [
            (&[][..], 3, (None, false)),
            (&[1, 1], 3, (Some(8), false)),
            (&[1, 1, 1], 2, (Some(8), true)),
            (&[HALF, HALF, 1], 9, (Some(8), true)),
            (&[HALF, HALF], 9, (Some(8), false)),
            (&[HALF, HALF + 1], 9, (Some(9), true)),
            (&[PAGE_MAX_BYTES + 1], 9, (Some(9), false)),
            (&[i64::MAX, i64::MAX], 9, (Some(9), true)),
            (&[1], 0, (None, true)),
        ] {
            let rows: Vec<(i64, i64)> = (7..10).rev().zip(sizes.iter().copied()).collect();
            assert_eq!(last_fitting(&rows, limit), page, "{sizes:?} {limit}");
        }
    }
}
