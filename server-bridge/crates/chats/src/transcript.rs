//! The part of a command's output that its message will show: all of it if it is short, otherwise its head and tail, in bounded memory.

use crate::limits::{OUTPUT_HEAD_CHARS, OUTPUT_TAIL_CHARS, OUTPUT_WHOLE_MAX_CHARS};
use agent::grouped::grouped;
use api::language::Language;

/// How far the tail may grow before it is trimmed, in bytes. It is trimmed rarely, and never becomes much longer.
const TAIL_SLACK_BYTES: usize = 4 * OUTPUT_TAIL_CHARS * 4;

/// The head and the tail of a command's output, and its total length.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    head: String,
    head_chars: usize,
    tail: String,
    total_chars: u64,
}

/// The note between the head and the tail about the part that is left out.
pub(crate) enum LeftOut<'a> {
    /// The command is still running.
    SoFar,
    /// The whole output is in this file on this machine.
    KeptIn { path: &'a str, place: &'a str },
    /// The output is a tool's result, which the model has or can read.
    OfResult,
    /// The output could not be kept, for this reason.
    NotKept { why: &'a str },
}

impl Transcript {
    /// Adds the next piece of text.
    pub(crate) fn push(&mut self, text: &str) {
        let chars = text.chars().count();
        self.total_chars += chars as u64;
        let mut rest = text;
        if self.head_chars < OUTPUT_HEAD_CHARS {
            let taken = chars.min(OUTPUT_HEAD_CHARS - self.head_chars);
            let (head, after) = text.split_at(byte_of_char(text, taken));
            self.head.push_str(head);
            self.head_chars += taken;
            rest = after;
        }
        self.tail.push_str(last_chars(rest, OUTPUT_TAIL_CHARS));
        if self.tail.len() > TAIL_SLACK_BYTES {
            self.tail = last_chars(&self.tail, OUTPUT_TAIL_CHARS).to_owned();
        }
    }

    /// True if a message can no longer show the whole output.
    pub(crate) fn is_long(&self) -> bool {
        self.total_chars > OUTPUT_WHOLE_MAX_CHARS as u64
    }

    /// The text of the message, with the note about the left-out part in this language.
    pub(crate) fn render(&self, left_out: &LeftOut<'_>, language: Language) -> String {
        let tail = last_chars(&self.tail, OUTPUT_TAIL_CHARS);
        if !self.is_long() {
            return format!("{}{tail}", self.head);
        }
        let count = grouped(self.total_chars - (OUTPUT_HEAD_CHARS + OUTPUT_TAIL_CHARS) as u64);
        let line = match left_out {
            LeftOut::SoFar => format!("… {count} characters left out so far …"),
            LeftOut::OfResult => format!("… {count} characters left out; the model has them …"),
            LeftOut::KeptIn { path, place } => {
                format!("… {count} characters left out; the whole output is in {path} on {place} …")
            }
            LeftOut::NotKept { why } => {
                format!("… {count} characters left out; the whole output could not be kept: {why} …")
            }
        };
        let line = language.translated(&line);
        let newline = if self.head.ends_with('\n') { "" } else { "\n" };
        format!("{}{newline}{line}\n{tail}", self.head)
    }
}

/// The byte offset of character number `chars`, or the end.
fn byte_of_char(text: &str, chars: usize) -> usize {
    text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at)
}

/// The end of a text, of at most `chars` characters.
pub(crate) fn last_chars(text: &str, chars: usize) -> &str {
    match chars.checked_sub(1).and_then(|chars| text.char_indices().nth_back(chars)) {
        Some((at, _)) => &text[at..],
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: LeftOut<'_> = LeftOut::KeptIn { path: "out.log", place: "laptop" };

    fn of_pieces(text: &str, chars: usize) -> Transcript {
        let mut transcript = Transcript::default();
        let all: Vec<char> = text.chars().collect();
        for piece in all.chunks(chars) {
            transcript.push(&piece.iter().collect::<String>());
        }
        transcript
    }

    #[test]
    fn up_to_four_thousand_characters_are_shown_whole() {
        for chars in [0, 1, 1999, 2000, 2001, 3999, 4000] {
            let text = "ä".repeat(chars);
            for piece in [1, 7, 5000] {
                assert_eq!(
                    of_pieces(&text, piece).render(&KEPT, Language::English),
                    text,
                    "{chars} in {piece}"
                );
            }
        }
    }

    #[test]
    fn beyond_it_head_and_tail_are_shown_with_what_is_left_out() {
        let text: String = (0..20_000_u32).map(|n| char::from(b'a' + (n % 26) as u8)).collect();
        for piece in [1, 999, 100_000] {
            let shown = of_pieces(&text, piece).render(&KEPT, Language::English);
            let line = "\n… 16,000 characters left out; the whole output is in out.log on laptop …\n";
            assert_eq!(shown, format!("{}{line}{}", &text[..2000], &text[18_000..]), "{piece}");
        }
    }

    #[test]
    fn memory_stays_bounded_whatever_comes() {
        let mut transcript = Transcript::default();
        for _ in 0..1000 {
            transcript.push(&"€".repeat(1000));
        }
        assert!(transcript.tail.len() <= TAIL_SLACK_BYTES && transcript.head_chars == OUTPUT_HEAD_CHARS);
        assert!(
            transcript
                .render(&LeftOut::NotKept { why: "disk full" }, Language::English)
                .contains("could not be kept: disk full")
        );
    }
}
