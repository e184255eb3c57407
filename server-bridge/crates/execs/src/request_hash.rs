//! Hashes that distinguish a repetition of a request from a different request.

use sha2::{Digest, Sha256};

/// A hash over everything that determines what runs, as its client wrote it, but not over the id or how the output is read.
pub fn document_hash(canonical: &[u8]) -> String {
    store::hex(&Sha256::digest(canonical))
}

/// A hash over everything in a request.
pub fn request_hash(target: Option<&str>, command: &str) -> String {
    let mut hash = Sha256::new();
    for part in ["shell", target.unwrap_or_default(), command] {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    store::hex(&hash.finalize())
}
