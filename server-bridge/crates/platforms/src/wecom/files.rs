//! Files of messages, which the platform encrypts, each with its own key.

use aes::cipher::{BlockCipherDecrypt as _, KeyInit as _};
use aes::{Aes256, Block};
use base64::prelude::*;
use md5::{Digest as _, Md5};

/// The length of a block of the cipher, in bytes.
const BLOCK_BYTES: usize = 16;

/// Files are padded to a multiple of this, in bytes, so at most this many bytes are added (bot documentation).
pub(super) const PADDING_MAX_BYTES: usize = 32;

/// Decrypts a file: AES-256 in CBC mode, where the initialization vector is the beginning of the key, padded by PKCS #7 to 32 bytes.
///
/// # Errors
/// The reason why the file cannot be decrypted.
pub(super) fn decrypt(encrypted: &[u8], key: &str) -> Result<Vec<u8>, &'static str> {
    // The padding character at the end of the key is sometimes left out.
    let key = BASE64_STANDARD_NO_PAD
        .decode(key.trim().trim_end_matches('='))
        .map_err(|_| "the file's key is not valid base64")?;
    let cipher = Aes256::new_from_slice(&key).map_err(|_| "the file's key has the wrong length")?;
    if encrypted.is_empty() || !encrypted.len().is_multiple_of(BLOCK_BYTES) {
        return Err("the file is cut off");
    }
    let mut before = &key[..BLOCK_BYTES];
    let mut plain = Vec::with_capacity(encrypted.len());
    for block in encrypted.chunks_exact(BLOCK_BYTES) {
        let mut decrypted = Block::try_from(block).map_err(|_| "the file is cut off")?;
        cipher.decrypt_block(&mut decrypted);
        plain.extend(decrypted.iter().zip(before).map(|(a, b)| a ^ b));
        before = block;
    }
    let padding = plain.last().copied().unwrap_or(0);
    let end = plain
        .len()
        .checked_sub(usize::from(padding))
        .filter(|_| (1..=PADDING_MAX_BYTES).contains(&usize::from(padding)));
    let end = end.ok_or("the file or its key is wrong")?;
    if plain[end..].iter().any(|&byte| byte != padding) {
        return Err("the file or its key is wrong");
    }
    plain.truncate(end);
    Ok(plain)
}

/// Returns a file's MD5 in hexadecimal digits, which the platform requires for an upload.
pub(super) fn md5(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use ::tests::platforms::wecom::{AES_KEY, ENCRYPTED, PLAIN};

    use super::*;

    #[test]
    fn what_another_program_encrypted_is_decrypted() {
        assert_eq!(decrypt(&ENCRYPTED, AES_KEY).unwrap(), PLAIN);
        assert_eq!(decrypt(&ENCRYPTED, AES_KEY.trim_end_matches('=')).unwrap(), PLAIN);
        assert_eq!(md5(b"contents"), "98bf7d8c15784f0a3d63204441e1e2aa");
    }

    #[test]
    fn what_is_wrong_is_refused() {
        let other = BASE64_STANDARD.encode([7; 32]);
        for (bytes, key) in [
            (&ENCRYPTED[..], other.as_str()),
            (&ENCRYPTED[..31], AES_KEY),
            (&[], AES_KEY),
            (&ENCRYPTED, "AAAA"),
            (&ENCRYPTED, "§"),
        ] {
            decrypt(bytes, key).unwrap_err();
        }
    }
}
