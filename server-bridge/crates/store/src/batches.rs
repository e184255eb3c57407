//! Long changes, divided into batches so that other writers can work between them.

use sqlx::FromRow;

use crate::limits::{FORK_BATCH_BYTES, FORK_BATCH_ROWS};

/// A row, and the length of its content in bytes.
#[derive(Debug, FromRow)]
pub(crate) struct Row<T> {
    pub(crate) id: T,
    pub(crate) size_bytes: i64,
}

/// Divides rows into batches that are each written at once, small enough that other writers do not wait long.
pub(crate) fn batches<T>(rows: &[Row<T>]) -> impl Iterator<Item = &[Row<T>]> {
    let mut rest = rows;
    std::iter::from_fn(move || {
        let mut size_bytes = 0;
        let fits = |row: &&Row<T>| {
            size_bytes += row.size_bytes;
            size_bytes <= FORK_BATCH_BYTES
        };
        // A row that exceeds the limit makes up a batch on its own.
        let count = rest.iter().take(FORK_BATCH_ROWS).take_while(fits).count().max(1).min(rest.len());
        let batch;
        (batch, rest) = rest.split_at(count);
        (!batch.is_empty()).then_some(batch)
    })
}
