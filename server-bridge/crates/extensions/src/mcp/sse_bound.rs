//! The size limit of one server-sent event.

/// Counts the bytes of the event that is arriving: its lines, without comments, up to an empty line.
#[derive(Debug)]
pub(super) struct EventBound {
    most_bytes: usize,
    /// Bytes of the event's complete lines.
    kept_bytes: usize,
    line_bytes: usize,
    is_comment: bool,
    after_return: bool,
}

impl EventBound {
    pub(super) fn new(most_bytes: usize) -> Self {
        Self { most_bytes, kept_bytes: 0, line_bytes: 0, is_comment: false, after_return: false }
    }

    /// Counts a piece; false if an event in it is too long.
    pub(super) fn takes(&mut self, piece: &[u8]) -> bool {
        piece.iter().all(|byte| {
            let is_second_half = std::mem::replace(&mut self.after_return, *byte == b'\r') && *byte == b'\n';
            match byte {
                b'\n' if is_second_half => {}
                b'\n' | b'\r' => self.end_line(),
                _ => {
                    if self.line_bytes == 0 {
                        self.is_comment = *byte == b':';
                    }
                    self.line_bytes += 1;
                }
            }
            self.kept_bytes.saturating_add(self.line_bytes) <= self.most_bytes
        })
    }

    fn end_line(&mut self) {
        if self.line_bytes == 0 {
            self.kept_bytes = 0;
        } else if !self.is_comment {
            self.kept_bytes += self.line_bytes + 1;
        }
        (self.line_bytes, self.is_comment) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(pieces: &[&str]) -> bool {
        let mut bound = EventBound::new(16);
        pieces.iter().all(|piece| bound.takes(piece.as_bytes()))
    }

    #[test]
    fn an_event_is_bounded_however_it_is_cut_and_the_next_one_begins_anew() {
        assert!(takes(&["data: 12345678\n\n", "data: 12345678\r", "\n\r\n", "data: 12345678"]));
        assert!(takes(&[": a comment\n", ": a comment\n", ": a comment\n", "data: 1\n\n"]));
        for too_long in [
            &["data: 123456789012"][..],
            &["data: 1\n", "data: 2\n", "data: 3"],
            &["data: 123", "45678", "9012"],
            &[": a comment that never ends"],
        ] {
            assert!(!takes(too_long), "{too_long:?}");
        }
    }
}
