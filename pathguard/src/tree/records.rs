//! Extended headers: records for the entry that follows, or for the whole archive.

use crate::{Error, Result};

/// The properties of an entry that the records in front of it contain.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) path: Option<Vec<u8>>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) size_bytes: Option<u64>,
}

impl Records {
    /// Parses pax records; the archive's own comment is stored in `comment`.
    pub(super) fn read(&mut self, body: &[u8], comment: &mut Option<String>) -> Result<()> {
        let mut rest = body;
        while !rest.is_empty() {
            let (key, value, behind) = split(rest).ok_or(Error::Archive("a record is malformed"))?;
            rest = behind;
            match key {
                b"path" => self.path = Some(value.to_vec()),
                b"linkpath" => self.link = Some(value.to_vec()),
                b"size" => {
                    let size = std::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
                    self.size_bytes = Some(size.ok_or(Error::Archive("an entry's size is not a number"))?);
                }
                b"comment" => *comment = Some(String::from_utf8_lossy(value).into_owned()),
                // A record that changes the meaning of the content must not be ignored.
                key if key.starts_with(b"GNU.sparse.") => {
                    return Err(Error::Archive("sparse files in archives are not supported"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Splits off the first record: `LENGTH KEY=VALUE\n`.
fn split(body: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = body.iter().position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(&body[..space]).ok()?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let length: usize = digits.parse().ok()?;
    let record = body.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], &body[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &[u8]) -> Result<Records> {
        let mut records = Records::default();
        records.read(body, &mut None).map(|()| records)
    }

    #[test]
    fn records_are_read_to_the_byte() {
        assert!(read(b"11 path=a\nb\n").is_err(), "one byte less than is there");
        let records = read(b"12 path=a\nb\n14 linkpath=\xff\n10 size=7\n11 mtime=1\n").unwrap();
        assert_eq!(records.path.as_deref(), Some(&b"a\nb"[..]));
        assert_eq!(records.link.as_deref(), Some(&b"\xff"[..]));
        assert_eq!(records.size_bytes, Some(7));
    }

    #[test]
    fn malformed_records_are_refused() {
        for body in [
            &b"x"[..],
            b" path=a\n",
            b"0 path=a\n",
            b"99 path=a\n",
            b"9 path=a ",
            b"-9 path=a\n",
            b"+9 path=a\n",
            b"99999999999999999999999 path=a\n",
            b"7 patha\n",
            b"10 size=x\n",
            b"11 size=-1\n",
            b"24 GNU.sparse.major=1 0\n",
        ] {
            assert!(read(body).is_err(), "{:?}", String::from_utf8_lossy(body));
        }
    }
}
