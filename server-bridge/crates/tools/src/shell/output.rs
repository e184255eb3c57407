//! What is kept of a command's output for its model.

use crate::limits::SHELL_KEPT_BYTES;

/// The beginning and the end of an output.
#[derive(Default)]
pub(super) struct Output {
    head: Vec<u8>,
    tail: Vec<u8>,
    /// How much is between them.
    pub(super) left_out_bytes: u64,
}

impl Output {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let room = SHELL_KEPT_BYTES - self.head.len();
        let (head, rest) = bytes.split_at(bytes.len().min(room));
        self.head.extend_from_slice(head);
        self.tail.extend_from_slice(rest);
        // Twice as much before it is cut, so that little is moved.
        if self.tail.len() > 2 * SHELL_KEPT_BYTES {
            self.cut_tail();
        }
    }

    fn cut_tail(&mut self) {
        let surplus = self.tail.len().saturating_sub(SHELL_KEPT_BYTES);
        self.tail.drain(..surplus);
        self.left_out_bytes += surplus as u64;
    }

    pub(super) fn text(&self) -> String {
        let surplus = self.tail.len().saturating_sub(SHELL_KEPT_BYTES);
        let (left_out_bytes, tail) = (self.left_out_bytes + surplus as u64, &self.tail[surplus..]);
        if left_out_bytes == 0 {
            // A character may stand on both sides.
            return String::from_utf8_lossy(&[&self.head, tail].concat()).into_owned();
        }
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(tail));
        format!("{head}\n… {left_out_bytes} bytes left out …\n{tail}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pieces: &[&[u8]]) -> String {
        let mut output = Output::default();
        pieces.iter().for_each(|piece| output.push(piece));
        output.text()
    }

    #[test]
    fn a_long_output_keeps_its_beginning_and_its_end() {
        assert_eq!(of(&[b"a", "é".as_bytes(), b"b"]), "aéb");
        let whole = vec![b'x'; 2 * SHELL_KEPT_BYTES];
        assert_eq!(of(&[&whole]).len(), whole.len(), "all of it, as long as it fits");
        let long = [b"begin".to_vec(), vec![b'x'; 5 * SHELL_KEPT_BYTES], b"end".to_vec()].concat();
        let pieces: Vec<&[u8]> = long.chunks(1000).collect();
        let text = of(&pieces);
        let left_out = long.len() - 2 * SHELL_KEPT_BYTES;
        assert!(text.starts_with("begin") && text.ends_with("end"));
        assert!(text.contains(&format!("… {left_out} bytes left out …")));
    }
}
