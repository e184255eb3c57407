//! The way out of a terminal whose other end does not answer: a tilde at the beginning of a line, as in `ssh`.

/// A person's command to this program, not to the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteRequest {
    /// Hang up and end.
    HangUp,
    /// End, and leave the other end running.
    Leave,
    /// Print the escapes.
    Help,
}

/// The list of escapes; lines end as in a raw terminal.
pub(super) const HELP: &str = "~.  hang up\r\n~d  leave it running\r\n~?  this text\r\n~~  a tilde\r\n\
                               They work at the beginning of a line.\r\n";

/// Scans input for escapes.
#[derive(Debug)]
pub(super) struct Escape {
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    LineBegin,
    /// After a tilde that was not passed on yet.
    Tilde,
    Inside,
}

impl Escape {
    pub(super) fn new() -> Self {
        Self { at: At::LineBegin }
    }

    /// Appends the input for the other end to `passed`; returns the first escape, after which nothing more is read.
    pub(super) fn read(&mut self, typed: &[u8], passed: &mut Vec<u8>) -> (usize, Option<RouteRequest>) {
        for (index, &byte) in typed.iter().enumerate() {
            match (self.at, byte) {
                (At::LineBegin, b'~') => {
                    self.at = At::Tilde;
                    continue;
                }
                (At::Tilde, b'.') => return (index + 1, Some(RouteRequest::HangUp)),
                (At::Tilde, b'd') => return (index + 1, Some(RouteRequest::Leave)),
                (At::Tilde, b'?') => {
                    self.at = At::LineBegin;
                    return (index + 1, Some(RouteRequest::Help));
                }
                (At::Tilde, b'~') => {}
                (At::Tilde, _) => passed.push(b'~'),
                (At::LineBegin | At::Inside, _) => {}
            }
            passed.push(byte);
            // Ctrl-C also ends the line.
            self.at = if matches!(byte, b'\r' | b'\n' | 0x03) { At::LineBegin } else { At::Inside };
        }
        (typed.len(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (String, Vec<RouteRequest>) {
        let (mut escape, mut passed, mut wishes) = (Escape::new(), Vec::new(), Vec::new());
        for piece in pieces {
            let mut rest = piece.as_bytes();
            while !rest.is_empty() {
                let (taken, wish) = escape.read(rest, &mut passed);
                wishes.extend(wish);
                rest = &rest[taken..];
            }
        }
        (String::from_utf8(passed).unwrap(), wishes)
    }

    #[test]
    fn a_tilde_counts_at_the_beginning_of_a_line_only() {
        assert_eq!(read(&["~."]), (String::new(), vec![RouteRequest::HangUp]));
        assert_eq!(read(&["ls\r~."]), ("ls\r".to_owned(), vec![RouteRequest::HangUp]));
        assert_eq!(read(&["ls\r~d"]), ("ls\r".to_owned(), vec![RouteRequest::Leave]));
        assert_eq!(read(&["sleep\x03", "~", "."]), ("sleep\x03".to_owned(), vec![RouteRequest::HangUp]));
        assert_eq!(read(&["cd ~.\r"]), ("cd ~.\r".to_owned(), vec![]));
    }

    #[test]
    fn what_is_no_escape_is_passed_on_whole() {
        for (typed, passed) in
            [("~/bin\r", "~/bin\r"), ("~~/x", "~/x"), ("~\r~~", "~\r~"), ("é~", "é~"), ("", "")]
        {
            assert_eq!(read(&[typed]), (passed.to_owned(), vec![]), "{typed:?}");
        }
        assert_eq!(read(&["~?ls\r"]), ("ls\r".to_owned(), vec![RouteRequest::Help]));
    }
}
