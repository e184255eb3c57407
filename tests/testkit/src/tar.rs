//! Archives that no real tar program would write.

/// An archive under construction, entry by entry, without any checks.
#[derive(Default)]
pub struct Tar(Vec<u8>);

impl Tar {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn file(self, path: &str, content: &[u8]) -> Self {
        self.entry(b'0', path, "", content.len() as u64, content)
    }

    pub fn directory(self, path: &str) -> Self {
        self.entry(b'5', path, "", 0, b"")
    }

    pub fn symlink(self, path: &str, target: &str) -> Self {
        self.entry(b'2', path, target, 0, b"")
    }

    /// Pax records for the next entry.
    pub fn records(self, records: &[u8]) -> Self {
        self.entry(b'x', "records", "", records.len() as u64, records)
    }

    /// Any entry, whose size need not be that of its content.
    pub fn entry(mut self, flag: u8, path: &str, link: &str, size: u64, content: &[u8]) -> Self {
        let mut block = [0; 512];
        let mode = if flag == b'5' { 0o755 } else { 0o644 };
        let mut put = |at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, path.as_bytes());
        put(100, format!("{mode:07o}").as_bytes());
        match size {
            0..0o777_7777_7777 => put(124, format!("{size:011o}").as_bytes()),
            _ => put(124, &[&[0x80, 0, 0, 0][..], &size.to_be_bytes()].concat()),
        }
        put(156, &[flag]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        self.0.extend_from_slice(&summed(block));
        self.0.extend_from_slice(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// The number of bytes so far: the offset of the next entry's header.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// Writes into the header that starts at `header`, and corrects its checksum.
    pub fn patched(mut self, header: usize, at: usize, bytes: &[u8]) -> Self {
        let block = &mut self.0[header..header + 512];
        block[at..at + bytes.len()].copy_from_slice(bytes);
        let whole = summed(block.try_into().unwrap());
        block.copy_from_slice(&whole);
        self
    }

    /// Gives the entry whose header starts there another mode.
    pub fn mode(self, header: usize, mode: u32) -> Self {
        self.patched(header, 100, format!("{mode:07o}").as_bytes())
    }

    /// Inverts a byte of the last entry's header, which has no content.
    pub fn broken(mut self, at: usize) -> Self {
        let header = self.0.len() - 512;
        self.0[header + at] ^= 1;
        self
    }

    /// The bytes so far, without an end.
    pub fn bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn end(mut self) -> Vec<u8> {
        self.0.resize(self.0.len() + 1024, 0);
        self.0
    }
}

/// A header with its correct checksum.
fn summed(mut block: [u8; 512]) -> [u8; 512] {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Pax records with their correct lengths.
pub fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, value) in records {
        let length =
            (1..).find(|length: &usize| *length == length.to_string().len() + key.len() + value.len() + 3);
        bytes.extend_from_slice(format!("{} {key}={value}\n", length.unwrap()).as_bytes());
    }
    bytes
}
