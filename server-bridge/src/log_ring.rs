//! The last lines of this process's log, kept in memory for its administrators' agents.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{LazyLock, Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, fmt};

use crate::limits::{LOG_LINE_BYTES, LOG_LINES};

/// The last lines of the process's only log.
static LINES: LazyLock<Mutex<VecDeque<String>>> = LazyLock::new(Mutex::default);

/// Sends the log of this process to a writer, and keeps its last lines.
pub(crate) fn init<W>(filter: EnvFilter, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let kept = fmt::layer().with_writer(|| Keeper);
    let written = fmt::layer().with_writer(writer);
    tracing_subscriber::registry().with(filter).with(written).with(kept).init();
}

/// The lines that are kept, the oldest first.
pub(crate) fn lines() -> Vec<String> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
}

/// A writer that keeps every log event written to it: each write is one event.
struct Keeper;

impl Write for Keeper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let mut lines = LINES.lock().unwrap_or_else(PoisonError::into_inner);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            if lines.len() >= LOG_LINES {
                lines.pop_front();
            }
            lines.push_back(line[..line.floor_char_boundary(LOG_LINE_BYTES)].to_owned());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_lines_are_kept_and_long_ones_are_cut() {
        for number in 0..LOG_LINES + 10 {
            Keeper.write_all(format!("line {number}\n").as_bytes()).unwrap();
        }
        Keeper.write_all("é".repeat(LOG_LINE_BYTES).as_bytes()).unwrap();
        let lines = lines();
        assert_eq!(lines.len(), LOG_LINES);
        assert!(lines[0].starts_with("line ") && lines[LOG_LINES - 2] == format!("line {}", LOG_LINES + 9));
        assert!(lines[LOG_LINES - 1].len() <= LOG_LINE_BYTES);
    }
}
