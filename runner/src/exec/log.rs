//! The output of an exec: both channels in the order they were read, by absolute offset.
//!
//! ```text
//!   dropped │ put away in the spool │ in memory
//!  0 ───────┴start──────────────────┴──────────end
//! ```
//! The newest output is in memory. Output above [`LOG_MEMORY_BYTES`] there, or [`LOG_PIECES`] pieces, is moved to the spool; if that is full the
//! oldest is dropped, which a reader notices because its offset is before `start`.

use std::collections::VecDeque;
use std::rc::Rc;

use bytes::{Bytes, BytesMut};
use proto::Channel;

use super::spool::{Budget, Slot, Spool};
use crate::limits::{LOG_GATHERED_BYTES, LOG_MEMORY_BYTES, LOG_PIECES, SPOOL_SLOT_BYTES};

/// Channel and length before each record of a block.
const RECORD_HEADER_BYTES: usize = 5;

#[derive(Debug)]
pub(super) struct Log {
    start: u64,
    end: u64,
    blocks: VecDeque<Block>,
    pieces: VecDeque<Piece>,
    memory_bytes: usize,
    spool: Spool,
    /// The block that was read last, which the next read probably needs again.
    loaded: Option<(u64, Vec<Piece>)>,
}

/// Output in the spool.
#[derive(Debug)]
struct Block {
    offset: u64,
    length: u64,
    slot: Slot,
}

/// Output of one channel in memory.
#[derive(Debug)]
struct Piece {
    offset: u64,
    channel: Channel,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Whole(Bytes),
    /// Small writes, gathered.
    Growing(BytesMut),
}

impl Piece {
    fn bytes(&self) -> &[u8] {
        match &self.body {
            Body::Whole(bytes) => bytes,
            Body::Growing(bytes) => bytes,
        }
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes().len() as u64
    }
}

impl Block {
    fn end(&self) -> u64 {
        self.offset + self.length
    }
}

impl Log {
    pub(super) fn new(budget: Rc<Budget>) -> Self {
        Self {
            start: 0,
            end: 0,
            blocks: VecDeque::new(),
            pieces: VecDeque::new(),
            memory_bytes: 0,
            spool: Spool::new(budget),
            loaded: None,
        }
    }

    /// The offset of the first byte that is kept.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// The offset after the last byte.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// Adds the next bytes.
    pub(super) fn append(&mut self, channel: Channel, bytes: Bytes) {
        let length = bytes.len();
        if length == 0 {
            return;
        }
        let gathered = match self.pieces.back_mut() {
            Some(Piece { channel: last, body: Body::Growing(grown), .. })
                if *last == channel && grown.len() + length <= LOG_GATHERED_BYTES =>
            {
                grown.extend_from_slice(&bytes);
                true
            }
            _ => false,
        };
        if !gathered {
            // A copy of a few bytes, so that they do not keep a whole frame alive, and can grow.
            let small = length <= LOG_GATHERED_BYTES / 4;
            let body = if small { Body::Growing(BytesMut::from(&bytes[..])) } else { Body::Whole(bytes) };
            self.pieces.push_back(Piece { offset: self.end, channel, body });
        }
        self.end += length as u64;
        self.memory_bytes += length;
        if self.memory_bytes > LOG_MEMORY_BYTES || self.pieces.len() > LOG_PIECES {
            self.put_away();
        }
    }

    /// Drops everything before `offset`.
    pub(super) fn trim_to(&mut self, offset: u64) {
        self.start = self.start.max(offset.min(self.end));
        while self.blocks.front().is_some_and(|block| block.end() <= self.start) {
            if let Some(block) = self.blocks.pop_front() {
                self.spool.free(&block.slot);
            }
        }
        while self.pieces.front().is_some_and(|piece| piece.end() <= self.start) {
            if let Some(piece) = self.pieces.pop_front() {
                self.memory_bytes -= piece.bytes().len();
            }
        }
    }

    /// Drops the oldest output beyond this many bytes.
    pub(super) fn limit(&mut self, bytes: u64) {
        self.trim_to(self.end.saturating_sub(bytes));
    }

    /// Output of one channel from `offset` on, at most `most` bytes; `None` at the end, and before the start.
    pub(super) fn read(&mut self, offset: u64, most: usize) -> Option<(Channel, Bytes)> {
        if offset < self.start || offset >= self.end {
            return None;
        }
        if self.pieces.front().is_some_and(|piece| piece.offset <= offset) {
            let at = self.pieces.partition_point(|piece| piece.end() <= offset);
            return self.pieces.get(at).map(|piece| part(piece, offset, most));
        }
        let at = self.blocks.partition_point(|block| block.end() <= offset);
        let block = self.blocks.get(at)?;
        if self.loaded.as_ref().is_none_or(|(loaded, _)| *loaded != block.offset) {
            let pieces = match self.spool.read(&block.slot) {
                Ok(records) => parse(&Bytes::from(records), block.offset),
                Err(error) => {
                    tracing::error!("spooled output cannot be read: {error}");
                    let after = block.end();
                    self.trim_to(after);
                    return None;
                }
            };
            self.loaded = Some((block.offset, pieces));
        }
        let (_, pieces) = self.loaded.as_ref()?;
        let at = pieces.partition_point(|piece| piece.end() <= offset);
        pieces.get(at).map(|piece| part(piece, offset, most))
    }

    /// Moves the older half of the output in memory to the spool, or drops it.
    fn put_away(&mut self) {
        let mut records = Vec::with_capacity(SPOOL_SLOT_BYTES);
        let pieces_goal = LOG_PIECES / 2;
        while (self.memory_bytes > LOG_MEMORY_BYTES / 2 || self.pieces.len() > pieces_goal)
            && let Some(first) = self.pieces.front()
        {
            let offset = first.offset;
            let mut length = 0;
            records.clear();
            while records.len() + RECORD_HEADER_BYTES < SPOOL_SLOT_BYTES
                && let Some(piece) = self.pieces.pop_front()
            {
                let room = SPOOL_SLOT_BYTES - records.len() - RECORD_HEADER_BYTES;
                let bytes = piece.bytes();
                let fits = bytes.len().min(room);
                record(&mut records, piece.channel, &bytes[..fits]);
                length += fits;
                if fits < bytes.len() {
                    let rest = Bytes::copy_from_slice(&bytes[fits..]);
                    let offset = piece.offset + fits as u64;
                    self.pieces.push_front(Piece { offset, channel: piece.channel, body: Body::Whole(rest) });
                }
            }
            self.memory_bytes -= length;
            self.keep(offset, length as u64, &records);
        }
    }

    fn keep(&mut self, offset: u64, length: u64, records: &[u8]) {
        let end = offset + length;
        loop {
            if let Some(slot) = self.spool.write(records) {
                self.blocks.push_back(Block { offset, length, slot });
                return;
            }
            match self.blocks.front().map(Block::end) {
                Some(oldest) => self.trim_to(oldest),
                None => return self.trim_to(end),
            }
        }
    }
}

fn part(piece: &Piece, offset: u64, most: usize) -> (Channel, Bytes) {
    let from = usize::try_from(offset - piece.offset).unwrap_or(usize::MAX);
    let to = piece.bytes().len().min(from.saturating_add(most));
    let bytes = match &piece.body {
        Body::Whole(bytes) => bytes.slice(from..to),
        Body::Growing(bytes) => Bytes::copy_from_slice(&bytes[from..to]),
    };
    (piece.channel, bytes)
}

fn record(records: &mut Vec<u8>, channel: Channel, bytes: &[u8]) {
    let length = u32::try_from(bytes.len()).expect("a record fits a slot, which is far smaller than 4 GiB");
    records.push(channel as u8);
    records.extend_from_slice(&length.to_le_bytes());
    records.extend_from_slice(bytes);
}

/// The records of a block, as [`record`] wrote them.
fn parse(records: &Bytes, mut offset: u64) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(&[channel, a, b, c, d]) = records[at..].first_chunk::<RECORD_HEADER_BYTES>() {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let from = at + RECORD_HEADER_BYTES;
        let channel = if channel == Channel::Stderr as u8 { Channel::Stderr } else { Channel::Stdout };
        pieces.push(Piece { offset, channel, body: Body::Whole(records.slice(from..from + length)) });
        offset += length as u64;
        at = from + length;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limits::SPOOL_EXEC_BYTES;

    const SHARED_BYTES: u64 = 3 * SPOOL_EXEC_BYTES;

    fn budget() -> Rc<Budget> {
        Budget::new(SHARED_BYTES, Box::new(tempfile::tempfile))
    }

    fn read_all(log: &mut Log, mut offset: u64) -> (Vec<u8>, Vec<u8>) {
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        while let Some((channel, bytes)) = log.read(offset, 1000) {
            offset += bytes.len() as u64;
            if channel == Channel::Stderr { &mut stderr } else { &mut stdout }.extend_from_slice(&bytes);
        }
        assert_eq!(offset, log.end());
        (stdout, stderr)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn what_was_written_is_read_from_any_offset(
            writes in prop::collection::vec((any::<bool>(), 1..40_000usize), 1..60),
            from in 0.0..1.0f64,
        ) {
            let mut log = Log::new(budget());
            let mut all = Vec::new();
            for (number, (stderr, length)) in writes.into_iter().enumerate() {
                let channel = if stderr { Channel::Stderr } else { Channel::Stdout };
                let bytes = Bytes::from(vec![number as u8; length]);
                all.extend(std::iter::repeat_n((channel, number as u8), length));
                log.append(channel, bytes);
            }
            prop_assert!(log.memory_bytes <= LOG_MEMORY_BYTES);
            prop_assert_eq!((log.start(), log.end()), (0, all.len() as u64));
            let from = (all.len() as f64 * from) as usize;
            let of = |wanted| all[from..].iter().filter(|(channel, _)| *channel == wanted).map(|(_, byte)| *byte).collect::<Vec<_>>();
            prop_assert_eq!(read_all(&mut log, from as u64), (of(Channel::Stdout), of(Channel::Stderr)));
        }
    }

    #[test]
    fn single_bytes_of_changing_channels_stay_bounded_in_memory() {
        let mut log = Log::new(budget());
        for number in 0..1_000_000u32 {
            let channel = if number % 2 == 0 { Channel::Stdout } else { Channel::Stderr };
            log.append(channel, Bytes::copy_from_slice(&[number as u8]));
        }
        assert!(log.pieces.len() <= LOG_PIECES);
        let (stdout, stderr) = read_all(&mut log, 0);
        assert_eq!((stdout.len(), stderr.len()), (500_000, 500_000));
    }

    #[test]
    fn beyond_the_bound_the_oldest_is_dropped() {
        let mut log = Log::new(budget());
        let piece = Bytes::from(vec![7; 60_000]);
        let mut written = 0;
        while written < SPOOL_EXEC_BYTES + 10_000_000 {
            log.append(Channel::Stdout, piece.clone());
            written += piece.len() as u64;
        }
        assert_eq!(log.end(), written);
        let kept = log.end() - log.start();
        assert!(
            kept <= SPOOL_EXEC_BYTES + LOG_MEMORY_BYTES as u64 && kept > SPOOL_EXEC_BYTES * 9 / 10,
            "{kept}"
        );
        assert_eq!(log.read(log.start() - 1, 10), None);
        assert_eq!(read_all(&mut log, written - kept).0.len() as u64, kept);
    }

    #[test]
    fn all_execs_share_one_budget_and_give_it_back() {
        let budget = budget();
        let piece = Bytes::from(vec![7; 65_000]);
        let mut logs: Vec<_> = (0..4).map(|_| Log::new(Rc::clone(&budget))).collect();
        for log in &mut logs {
            while log.end() < SPOOL_EXEC_BYTES {
                log.append(Channel::Stdout, piece.clone());
            }
        }
        let used = budget.used_slots.get() * SPOOL_SLOT_BYTES as u64;
        assert!(used <= SHARED_BYTES && used > SHARED_BYTES * 9 / 10, "{used}");
        drop(logs);
        assert_eq!(budget.used_slots.get(), 0);
    }

    #[test]
    fn without_a_file_only_memory_is_kept() {
        let mut log =
            Log::new(Budget::new(SHARED_BYTES, Box::new(|| Err(std::io::ErrorKind::StorageFull.into()))));
        for _ in 0..100 {
            log.append(Channel::Stdout, Bytes::from(vec![7; 60_000]));
        }
        assert_eq!(log.end(), 6_000_000);
        assert!(log.end() - log.start() <= LOG_MEMORY_BYTES as u64);
        let start = log.start();
        assert_eq!(read_all(&mut log, start).0.len() as u64, log.end() - start);
    }

    #[test]
    fn what_is_trimmed_frees_its_slots() {
        let budget = budget();
        let mut log = Log::new(Rc::clone(&budget));
        for _ in 0..100 {
            log.append(Channel::Stdout, Bytes::from(vec![7; 60_000]));
        }
        assert!(budget.used_slots.get() > 0);
        log.trim_to(log.end());
        assert_eq!((budget.used_slots.get(), log.memory_bytes, log.start()), (0, 0, 6_000_000));
    }
}
