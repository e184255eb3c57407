//! The beginning and the end of an output of any length.

use crate::limits::MCP_SHOWN_BYTES;

/// What a command wrote, as much of it as is shown.
#[derive(Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// Bytes that stood behind the head and are gone from the tail.
    cut_bytes: u64,
    /// Bytes that never came.
    lost_bytes: u64,
}

impl Output {
    /// Takes what came next.
    pub(super) fn push(&mut self, bytes: &[u8], lost_bytes: u64) {
        self.lost_bytes += lost_bytes;
        let room = MCP_SHOWN_BYTES / 2 - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Twice as much before it is cut, so that little is moved.
        if self.tail.len() > MCP_SHOWN_BYTES {
            self.cut_tail();
        }
    }

    /// How much came, and was lost on the way.
    pub(super) fn total_bytes(&self) -> u64 {
        self.head.len() as u64 + self.cut_bytes + self.tail.len() as u64 + self.lost_bytes
    }

    /// The end of it so far, in `max_bytes` at most.
    pub(super) fn last(&self, max_bytes: usize) -> String {
        let newest = if self.tail.is_empty() { &self.head } else { &self.tail };
        String::from_utf8_lossy(&newest[newest.len().saturating_sub(max_bytes)..]).into_owned()
    }

    /// What is shown of it.
    pub(super) fn finish(mut self) -> Shown {
        self.cut_tail();
        let left_out_bytes = self.cut_bytes + self.lost_bytes;
        if left_out_bytes == 0 {
            // A character may stand on both sides.
            let text = String::from_utf8_lossy(&[self.head, self.tail].concat()).into_owned();
            return Shown { text, left_out_bytes, rest_offset: 0 };
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        let text = format!("{head}\n… {left_out_bytes} bytes left out …\n{tail}");
        Shown { text, left_out_bytes, rest_offset: self.head.len() as u64 }
    }

    fn cut_tail(&mut self) {
        let surplus = self.tail.len().saturating_sub(MCP_SHOWN_BYTES / 2);
        self.tail.drain(..surplus);
        self.cut_bytes += surplus as u64;
    }
}

/// An output as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Shown {
    /// All of it, or head and tail with a note between them.
    pub(super) text: String,
    /// How much is not in the text.
    pub(super) left_out_bytes: u64,
    /// Where that begins, if anything is left out.
    pub(super) rest_offset: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> Shown {
        let mut output = Output::default();
        pieces.iter().for_each(|piece| output.push(piece, 0));
        assert_eq!(output.total_bytes(), pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
        output.finish()
    }

    #[test]
    fn what_fits_is_shown_whole_however_it_came() {
        let text = "aé".repeat(MCP_SHOWN_BYTES / 3);
        for size in [1, 2, 7, text.len()] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(of(&pieces), Shown { text: text.clone(), left_out_bytes: 0, rest_offset: 0 });
        }
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end_and_says_where_the_rest_is() {
        let long = [b"begin".to_vec(), vec![b'x'; 5 * MCP_SHOWN_BYTES], b"end".to_vec()].concat();
        let pieces: Vec<&[u8]> = long.chunks(1000).collect();
        let shown = of(&pieces);
        let left_out = long.len() - MCP_SHOWN_BYTES;
        assert!(shown.text.starts_with("begin") && shown.text.ends_with("end"));
        assert!(shown.text.contains(&format!("… {left_out} bytes left out …")));
        assert_eq!((shown.left_out_bytes, shown.rest_offset), (left_out as u64, MCP_SHOWN_BYTES as u64 / 2));
    }

    #[test]
    fn what_was_lost_on_the_way_is_told() {
        let mut output = Output::default();
        output.push(b"a", 0);
        output.push(b"", 7);
        output.push(b"b", 0);
        assert_eq!(output.last(1), "b");
        assert_eq!(output.total_bytes(), 9);
        assert_eq!(output.finish().left_out_bytes, 7);
    }
}
