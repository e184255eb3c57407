//! Shortens output of any length to its beginning and its end.

/// A command's output, as far as it is shown.
pub(crate) struct Output {
    /// How much is shown of the beginning, and of the end, in bytes each.
    side_bytes: usize,
    head: Vec<u8>,
    tail: Vec<u8>,
    /// The number of bytes between the head and the tail that were dropped.
    cut_bytes: u64,
    /// The number of bytes that never arrived.
    lost_bytes: u64,
}

/// A command's output in the form for display.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The whole output, or its beginning and end with a note between them.
    pub(crate) text: String,
    /// The number of bytes that are missing from the text.
    pub(crate) left_out_bytes: u64,
    /// The offset of the missing part, if any.
    pub(crate) rest_offset: u64,
}

impl Output {
    /// An `Output` without any bytes yet; at most `side_bytes` are shown of its beginning, and as many of its end.
    pub(crate) fn new(side_bytes: usize) -> Self {
        Self { side_bytes, head: Vec::new(), tail: Vec::new(), cut_bytes: 0, lost_bytes: 0 }
    }

    /// Adds the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.side_bytes - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Shortened only at twice the size, so that few bytes are moved.
        if self.tail.len() > 2 * self.side_bytes {
            self.cut_tail();
        }
    }

    /// Counts bytes that will never arrive.
    pub(crate) fn lost(&mut self, bytes: u64) {
        self.lost_bytes = self.lost_bytes.saturating_add(bytes);
    }

    /// The output as it is shown.
    pub(crate) fn finish(mut self) -> Shown {
        self.cut_tail();
        let left_out_bytes = self.cut_bytes.saturating_add(self.lost_bytes);
        if left_out_bytes == 0 {
            // The first or last character of the output may be incomplete.
            let text = String::from_utf8_lossy(&[self.head, self.tail].concat()).into_owned();
            return Shown { text, left_out_bytes, rest_offset: 0 };
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&self.tail));
        let text = format!("{head}\n… bytes left out: {left_out_bytes} …\n{tail}");
        Shown { text, left_out_bytes, rest_offset: self.head.len() as u64 }
    }

    fn cut_tail(&mut self) {
        let surplus = self.tail.len().saturating_sub(self.side_bytes);
        self.tail.drain(..surplus);
        self.cut_bytes += surplus as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE_BYTES: usize = 24 * 1024;

    fn of(pieces: &[&[u8]]) -> Shown {
        let mut output = Output::new(SIDE_BYTES);
        pieces.iter().for_each(|piece| output.push(piece));
        output.finish()
    }

    #[test]
    fn an_output_that_fits_is_shown_whole_however_it_came() {
        let text = "aé".repeat(2 * SIDE_BYTES / 3);
        for size in [1, 2, 7, text.len()] {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            assert_eq!(of(&pieces), Shown { text: text.clone(), left_out_bytes: 0, rest_offset: 0 });
        }
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end_and_says_where_the_rest_is() {
        let long = [b"begin".to_vec(), vec![b'x'; 10 * SIDE_BYTES], b"end".to_vec()].concat();
        let pieces: Vec<&[u8]> = long.chunks(1000).collect();
        let shown = of(&pieces);
        let left_out = long.len() - 2 * SIDE_BYTES;
        assert!(shown.text.starts_with("begin") && shown.text.ends_with("end"));
        assert!(shown.text.contains(&format!("… bytes left out: {left_out} …")));
        assert_eq!((shown.left_out_bytes, shown.rest_offset), (left_out as u64, SIDE_BYTES as u64));
    }

    #[test]
    fn bytes_that_were_lost_on_the_way_are_counted() {
        let mut output = Output::new(SIDE_BYTES);
        output.push(b"a");
        output.lost(7);
        output.push(b"b");
        assert_eq!(output.finish().left_out_bytes, 7);
    }
}
