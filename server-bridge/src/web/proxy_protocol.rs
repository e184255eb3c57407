//! The PROXY protocol, versions 1 and 2: a proxy's first bytes name its client.
//!
//! Nothing after the header is read. An invalid header ends the connection, as the specification requires.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::limits::{PROXY_LINE_BYTES, PROXY_PAYLOAD_BYTES};

/// The beginning of a header of version 2.
const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// The beginning of a header of version 1.
const LINE_START: &[u8] = b"PROXY ";

/// Why the header is invalid.
#[derive(Debug, thiserror::Error)]
pub enum HeaderError {
    /// The connection broke, or ended before its header did.
    #[error("the PROXY header is incomplete: {0}")]
    Io(#[from] io::Error),
    /// The connection does not begin with a PROXY header.
    #[error(
        "the connection does not begin with a PROXY header; configure the proxy to send one, or leave --proxy-protocol out"
    )]
    Missing,
    /// The header is longer than the limit.
    #[error("the PROXY header is too long")]
    TooLong,
    /// The header has a form that is not valid.
    #[error("the PROXY header cannot be understood")]
    Malformed,
}

/// Reads the header; returns the client's address, unless the proxy connects for itself or does not name a client.
///
/// # Errors
/// [`HeaderError`].
pub async fn read<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<IpAddr>, HeaderError> {
    let mut start = [0; SIGNATURE.len()];
    stream.read_exact(&mut start).await?;
    if start == SIGNATURE {
        return read_binary(stream).await;
    }
    if !start.starts_with(LINE_START) {
        return Err(HeaderError::Missing);
    }
    let mut line = start.to_vec();
    while !line.ends_with(b"\r\n") {
        if line.len() >= PROXY_LINE_BYTES {
            return Err(HeaderError::TooLong);
        }
        // Read byte by byte, so that no byte after the line is consumed.
        line.push(stream.read_u8().await?);
    }
    let line =
        std::str::from_utf8(&line[LINE_START.len()..line.len() - 2]).map_err(|_| HeaderError::Malformed)?;
    of_line(line).ok_or(HeaderError::Malformed)
}

/// The source in a line of version 1, without its beginning and end; the inner `None` if there is none.
fn of_line(line: &str) -> Option<Option<IpAddr>> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["UNKNOWN", ..] => Some(None),
        ["TCP4", source, destination, source_port, destination_port] => {
            let source: Ipv4Addr = source.parse().ok()?;
            destination.parse::<Ipv4Addr>().ok()?;
            are_ports([source_port, destination_port]).then_some(Some(source.into()))
        }
        ["TCP6", source, destination, source_port, destination_port] => {
            let source: Ipv6Addr = source.parse().ok()?;
            destination.parse::<Ipv6Addr>().ok()?;
            are_ports([source_port, destination_port]).then_some(Some(IpAddr::V6(source).to_canonical()))
        }
        _ => None,
    }
}

fn are_ports(words: [&str; 2]) -> bool {
    words.iter().all(|word| word.bytes().all(|byte| byte.is_ascii_digit()) && word.parse::<u16>().is_ok())
}

/// Reads the rest of a header of version 2.
async fn read_binary<S: AsyncRead + Unpin>(stream: &mut S) -> Result<Option<IpAddr>, HeaderError> {
    let (version_and_command, family) = (stream.read_u8().await?, stream.read_u8().await?);
    let length = usize::from(stream.read_u16().await?);
    if length > PROXY_PAYLOAD_BYTES {
        return Err(HeaderError::TooLong);
    }
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await?;
    match (version_and_command, family) {
        // The proxy's own connection, such as a health check; its addresses are irrelevant.
        (0x20, _) => Ok(None),
        // TCP over IPv4: two addresses, two ports, and optional data.
        (0x21, 0x11) if length >= 12 => {
            Ok(payload.first_chunk().map(|source: &[u8; 4]| IpAddr::from(*source)))
        }
        (0x21, 0x21) if length >= 36 => {
            Ok(payload.first_chunk().map(|source: &[u8; 16]| IpAddr::from(*source).to_canonical()))
        }
        // Unspecified, or a Unix socket, so there is no usable address.
        (0x21, 0x00 | 0x31) => Ok(None),
        _ => Err(HeaderError::Malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of reading these bytes, and the number of bytes left unread.
    async fn read_all(bytes: &[u8]) -> (Result<Option<String>, HeaderError>, usize) {
        let mut rest = bytes;
        let source = read(&mut rest).await;
        (source.map(|source| source.map(|address| address.to_string())), rest.len())
    }

    fn binary(version_and_command: u8, family: u8, payload: &[u8]) -> Vec<u8> {
        let length = (payload.len() as u16).to_be_bytes();
        [&SIGNATURE[..], &[version_and_command, family], &length, payload, b"GET"].concat()
    }

    fn source(address: &str) -> Option<String> {
        Some(address.to_owned())
    }

    #[tokio::test]
    async fn both_versions_name_the_client_and_nothing_behind_them_is_read() {
        let v6 = [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1], &[9; 20]].concat();
        let mapped = [&[0; 10][..], &[0xff, 0xff, 192, 0, 2, 1], &[9; 20]].concat();
        for (bytes, expected) in [
            (b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\nGET".to_vec(), source("192.0.2.1")),
            (b"PROXY TCP6 2001:db8::1 ::1 65535 0\r\nGET".to_vec(), source("2001:db8::1")),
            (b"PROXY TCP6 ::ffff:192.0.2.1 ::1 1 2\r\nGET".to_vec(), source("192.0.2.1")),
            (b"PROXY UNKNOWN\r\nGET".to_vec(), None),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\nGET".to_vec(), None),
            (binary(0x21, 0x11, &[192, 0, 2, 1, 10, 0, 0, 1, 1, 2, 3, 4]), source("192.0.2.1")),
            (binary(0x21, 0x11, &[[192, 0, 2, 1].as_slice(), &[7; 200]].concat()), source("192.0.2.1")),
            (binary(0x21, 0x21, &v6), source("2001:db8::1")),
            (binary(0x21, 0x21, &mapped), source("192.0.2.1")),
            (binary(0x20, 0x11, &[192, 0, 2, 1, 10, 0, 0, 1, 1, 2, 3, 4]), None),
            (binary(0x20, 0x00, &[]), None),
            (binary(0x21, 0x00, &[]), None),
            (binary(0x21, 0x31, &[b'/'; 216]), None),
        ] {
            let (read, rest) = read_all(&bytes).await;
            assert_eq!((read.unwrap(), rest), (expected, 3), "{:?}", String::from_utf8_lossy(&bytes));
        }
    }

    #[tokio::test]
    async fn what_is_no_header_is_refused() {
        let long = format!("PROXY UNKNOWN {}\r\n", "x".repeat(200));
        for bytes in [
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".as_slice(),
            b"PROXY  TCP4 192.0.2.1 10.0.0.1 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 10.0.0.1 1\r\n",
            b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2 3\r\n",
            b"PROXY TCP4 192.0.2.1 10.0.0.1 1 65536\r\n",
            b"PROXY TCP4 192.0.2.1 10.0.0.1 +1 2\r\n",
            b"PROXY TCP4 ::1 ::1 1 2\r\n",
            b"PROXY TCP6 192.0.2.1 10.0.0.1 1 2\r\n",
            b"PROXY TCP4 192.0.2.1 10.0.0.1 1 2\n\r\n",
            b"PROXY SCTP4 192.0.2.1 10.0.0.1 1 2\r\n",
            b"PROXY TCP4 \xff.0.2.1 10.0.0.1 1 2\r\n",
            b"proxy TCP4 192.0.2.1 10.0.0.1 1 2\r\n",
            long.as_bytes(),
            b"\r\n\r\n\0\r\nQUIX\n\x21\x11\0\x0c............",
        ] {
            let (read, _) = read_all(bytes).await;
            assert!(!matches!(read, Ok(_) | Err(HeaderError::Io(_))), "{:?}", String::from_utf8_lossy(bytes));
        }
        for (version_and_command, family, payload) in [
            (0x11, 0x11, 12),
            (0x22, 0x11, 12),
            (0x21, 0x12, 12),
            (0x21, 0x11, 11),
            (0x21, 0x21, 35),
            (0x21, 0x11, 9_000),
        ] {
            let (read, _) = read_all(&binary(version_and_command, family, &vec![0; payload])).await;
            assert!(
                !matches!(read, Ok(_) | Err(HeaderError::Io(_))),
                "{version_and_command} {family} {payload}"
            );
        }
    }

    #[tokio::test]
    async fn half_a_header_is_none() {
        let whole = binary(0x21, 0x11, &[192, 0, 2, 1, 10, 0, 0, 1, 1, 2, 3, 4]);
        for header in [b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 443\r\n".as_slice(), &whole[..28]] {
            for end in 0..header.len() {
                assert!(matches!(read_all(&header[..end]).await.0, Err(HeaderError::Io(_))), "{end}");
            }
        }
    }
}
