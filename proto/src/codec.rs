//! The only use of bincode: encoding and decoding control bodies.
//!
//! Little endian, fixed-width integers, 64-bit lengths, 32-bit enum tags. The crate is finished and
//! unmaintained, so `PROTOCOL.md` and the golden fixtures define the format, not the crate.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
pub use bincode::{Decode, Encode};

use crate::error::{ErrorKind, WireError};
use crate::limits::MAX_CONTROL_BYTES;

const CONFIG: Configuration<LittleEndian, Fixint, Limit<MAX_CONTROL_BYTES>> = bincode::config::standard()
    .with_little_endian()
    .with_fixed_int_encoding()
    .with_limit::<MAX_CONTROL_BYTES>();

/// Encodes a control body; fails with `too_large` beyond [`MAX_CONTROL_BYTES`].
pub fn encode<T: Encode>(value: &T) -> Result<Vec<u8>, WireError> {
    let bytes = bincode::encode_to_vec(value, CONFIG)
        .map_err(|error| WireError::new(ErrorKind::InvalidBody, format!("cannot encode: {error}")))?;
    if bytes.len() > MAX_CONTROL_BYTES {
        return Err(WireError::new(
            ErrorKind::TooLarge,
            format!(
                "a request or message can have at most {MAX_CONTROL_BYTES} bytes; this one has {}",
                bytes.len()
            ),
        ));
    }
    Ok(bytes)
}

/// Decodes a control body, which must be used up to its last byte.
///
/// Lengths are checked against the limit before anything is allocated.
pub fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, WireError> {
    let invalid = |text: String| WireError::new(ErrorKind::InvalidBody, text);
    let (value, used) = bincode::decode_from_slice(bytes, CONFIG)
        .map_err(|error| invalid(format!("cannot decode: {error}")))?;
    match bytes.len() - used {
        0 => Ok(value),
        rest => Err(invalid(format!("{rest} bytes left over"))),
    }
}

/// A failed request's body.
#[derive(Encode, Decode)]
struct WireErrorBody {
    code: u16,
    description: String,
}

impl WireError {
    pub(crate) fn encode(&self) -> Vec<u8> {
        encode(&WireErrorBody { code: self.kind.code(), description: self.description.clone() })
            .expect("a description of at most 4,096 bytes is under the control limit")
    }

    pub(crate) fn decode(body: &[u8]) -> Result<Self, WireError> {
        let WireErrorBody { code, description } = decode(body)?;
        Ok(Self::new(ErrorKind::from_code(code), description))
    }
}
