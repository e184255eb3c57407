//! The first line of a command's output, with which the command may ask to continue in the background: `{"async": true, "asyncTimeout": 15000}`.

use std::time::Duration;

use serde_json::Value;

use super::{Raw, output};
use crate::limits::FIRST_LINE_BYTES;

/// Fields with which an answer decides something: a command that already decides is not in the background.
const DECIDES: [&str; 5] = ["continue", "decision", "hookSpecificOutput", "ok", "updatedInput"];

/// The first line of a command's output while it arrives.
#[derive(Debug, Default)]
pub struct FirstLine {
    begun: Vec<u8>,
    is_over: bool,
}

impl FirstLine {
    /// Takes more of the output; returns, once, the time for which the command asks to continue in the background. Its line may still lack its end.
    pub fn take(&mut self, bytes: &[u8]) -> Option<Duration> {
        if self.is_over {
            return None;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let line = &bytes[..end.unwrap_or(bytes.len())];
        if self.begun.len() + line.len() > FIRST_LINE_BYTES {
            self.is_over = true;
            return None;
        }
        self.begun.extend_from_slice(line);
        let asked = asked(&self.begun);
        self.is_over = end.is_some() || asked.is_some();
        asked
    }
}

/// The time for which a command asks to continue in the background, if the first line of its output asks for it.
pub fn goes_to_background(first_line: &str) -> Option<Duration> {
    let Ok(Value::Object(fields)) = serde_json::from_str(first_line.trim()) else { return None };
    let decides = DECIDES.iter().any(|field| fields.contains_key(*field));
    output::background(&fields).filter(|_| !decides)
}

/// The result of a command that ran in the background, without the line with which it asked for that.
pub fn after_first_line(raw: Raw) -> Raw {
    let Raw::Exit { status, mut stdout, stderr, is_cut } = raw else { return raw };
    let end = stdout.iter().position(|byte| *byte == b'\n').map_or(stdout.len(), |at| at + 1);
    if asked(&stdout[..end]).is_some() {
        stdout.drain(..end);
    }
    Raw::Exit { status, stdout, stderr, is_cut }
}

fn asked(line: &[u8]) -> Option<Duration> {
    goes_to_background(std::str::from_utf8(line).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::BACKGROUND_PATIENCE;

    /// The time that a command asks for with output that arrives in these parts, and the number of the part that asks.
    fn taken(parts: &[&str]) -> Option<(usize, Duration)> {
        let mut line = FirstLine::default();
        let asks: Vec<_> = parts
            .iter()
            .enumerate()
            .filter_map(|(at, part)| line.take(part.as_bytes()).map(|time| (at, time)))
            .collect();
        assert!(asks.len() < 2, "{asks:?}");
        asks.first().copied()
    }

    #[test]
    fn the_first_line_asks_as_soon_as_it_is_complete() {
        let time = Duration::from_millis(250);
        let line = r#"{"async": true, "asyncTimeout": 250}"#;
        let (start, end) = line.split_at(7);
        assert_eq!(taken(&[line]), Some((0, time)), "no end of the line is needed");
        assert_eq!(taken(&[start, end, "\n", line]), Some((1, time)));
        assert_eq!(taken(&[start, &format!("{end}\nworking\n"), line]), Some((1, time)));
        assert_eq!(taken(&[r#" {"async":true} "#, "\n"]), Some((0, BACKGROUND_PATIENCE)));
    }

    #[test]
    fn only_the_first_line_asks_and_only_if_it_decides_nothing() {
        let line = r#"{"async": true}"#;
        for parts in [
            vec!["working\n", line],
            vec!["\n", line],
            vec![r#"{"async": false}"#, "\n", line],
            vec![r#"{"async": true, "decision": "block"}"#],
            vec![r#"{"async": true, "hookSpecificOutput": {"permissionDecision": "deny"}}"#],
            vec!["{", "}", line],
        ] {
            assert_eq!(taken(&parts), None, "{parts:?}");
        }
        let padded = format!("{line}{}", " ".repeat(FIRST_LINE_BYTES));
        assert_eq!(taken(&[&padded]), None);
        let (half, byte) = (" ".repeat(FIRST_LINE_BYTES - line.len() + 1), ["x"; 9]);
        assert_eq!(taken(&[&half, line]), None);
        assert_eq!(taken(&byte), None);
    }

    #[test]
    fn the_result_is_what_follows_the_line() {
        let stdout = |text: &str| {
            let raw = Raw::Exit { status: 0, stdout: text.into(), stderr: Vec::new(), is_cut: false };
            let Raw::Exit { stdout, .. } = after_first_line(raw) else { panic!() };
            String::from_utf8(stdout).unwrap()
        };
        assert_eq!(stdout("{\"async\": true}\n{\"systemMessage\": \"x\"}\n"), "{\"systemMessage\": \"x\"}\n");
        assert_eq!(stdout("{\"async\": true}"), "");
        assert_eq!(stdout("{\"systemMessage\": \"x\"}\n"), "{\"systemMessage\": \"x\"}\n");
        assert_eq!(stdout(""), "");
    }
}
