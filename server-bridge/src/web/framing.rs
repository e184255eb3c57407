//! Checks, on the bytes as they arrive, that it is clear where one request ends and the next begins.
//!
//! hyper accepts `Content-Length` together with `Transfer-Encoding` and hides one of them. A proxy in front may have used the
//! other one, and then hyper and the proxy disagree about where the next request begins. So the lines of each head are checked here
//! before hyper reads them. A request whose end two readers could see in different places is marked and answered with 400, and its
//! connection is closed. After a chunked body, and after a refused upgrade, the connection is closed as well, because the bytes that
//! follow have not been checked.
//!
//! ```text
//! Head ──its end──▶ Body(n) ──n bytes──▶ Head
//!   └─ chunked, upgrade or ambiguous ──▶ Beyond (the last request of this connection)
//! ```
//!
//! hyper allocates 16 KiB of memory for a head of which it has read one byte. So a connection's first head is kept here, in memory
//! of its own size, until it is complete.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::limits::{FIRST_HEAD_READ_BYTES, FRAMING_LINE_BYTES, REQUEST_HEAD_BYTES};

/// An extension of a request whose head does not state unambiguously where the request ends.
#[derive(Debug, Clone, Copy)]
pub struct AmbiguousLength;

/// The requests of one connection, as the service sees them.
#[derive(Debug, Default)]
pub struct Framing {
    /// The number of requests served.
    served: AtomicU64,
    /// The number of the ambiguous request, counted from 1; 0 while there is none.
    ambiguous: Arc<AtomicU64>,
}

impl Framing {
    /// Wraps a stream so that the bytes are checked before hyper reads them.
    pub fn watch<S>(&self, stream: S) -> Watched<S> {
        let ambiguous = Arc::clone(&self.ambiguous);
        Watched { stream, at: At::default(), requests: 0, ambiguous, held: BytesMut::new() }
    }

    /// Marks the request if it is ambiguous. Returns true if the connection ends with this request, unless it switches to another protocol.
    pub fn enter(&self, request: &mut Request<Body>) -> bool {
        let number = self.served.fetch_add(1, Ordering::Relaxed) + 1;
        let ambiguous = self.ambiguous.load(Ordering::Acquire);
        let is_ambiguous = ambiguous != 0 && number >= ambiguous;
        if is_ambiguous {
            request.extensions_mut().insert(AmbiguousLength);
        }
        let headers = request.headers();
        is_ambiguous
            || headers.contains_key(header::TRANSFER_ENCODING)
            || headers.contains_key(header::UPGRADE)
    }
}

/// Tells the client, and hyper, that this response is the connection's last.
pub fn close_after(response: &mut Response) {
    if response.status() != StatusCode::SWITCHING_PROTOCOLS {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

/// A stream whose requests are counted and checked as they are read.
#[derive(Debug)]
pub struct Watched<S> {
    stream: S,
    at: At,
    requests: u64,
    ambiguous: Arc<AtomicU64>,
    /// Bytes that have been read and checked, but not yet read by hyper.
    held: BytesMut,
}

/// The part that the next byte belongs to.
#[derive(Debug)]
enum At {
    Head(Head),
    /// This many bytes of a body have yet to arrive.
    Body(u64),
    /// The bytes after the last request that can be checked.
    Beyond,
}

impl Default for At {
    fn default() -> Self {
        Self::Head(Head::default())
    }
}

/// How a complete head defines the end of its request.
#[derive(Debug, PartialEq)]
enum End {
    After(u64),
    /// The request ends with its last chunk, or switches to another protocol.
    Elsewhere,
    Ambiguous,
}

/// A head, as far as it has arrived.
#[derive(Debug)]
struct Head {
    /// The beginning of the current line; the lines that matter are short.
    line: [u8; FRAMING_LINE_BYTES],
    /// The number of bytes in `line`.
    filled: usize,
    /// True if the current line is longer than `line` can hold.
    is_cut: bool,
    has_request_line: bool,
    encodings: u32,
    is_chunked: bool,
    lengths: u32,
    length: Option<u64>,
    upgrades: bool,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            line: [0; FRAMING_LINE_BYTES],
            filled: 0,
            is_cut: false,
            has_request_line: false,
            encodings: 0,
            is_chunked: false,
            lengths: 0,
            length: None,
            upgrades: false,
        }
    }
}

impl Head {
    fn extend(&mut self, bytes: &[u8]) {
        let taken = bytes.len().min(FRAMING_LINE_BYTES - self.filled);
        self.line[self.filled..self.filled + taken].copy_from_slice(&bytes[..taken]);
        self.filled += taken;
        self.is_cut |= taken < bytes.len();
    }

    /// Processes the completed line; returns the result if this was the head's last line.
    fn end_line(&mut self) -> Option<End> {
        let line = self.line;
        let line = &line[..self.filled];
        let line = if self.is_cut { line } else { line.strip_suffix(b"\r").unwrap_or(line) };
        let is_cut = std::mem::take(&mut self.is_cut);
        self.filled = 0;
        if line.is_empty() {
            // Empty lines before a request are ignored.
            return self.has_request_line.then(|| self.end());
        }
        if !std::mem::replace(&mut self.has_request_line, true) {
            return None;
        }
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.encodings += 1;
            self.is_chunked = !is_cut && value.eq_ignore_ascii_case(b"chunked");
        } else if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            self.length = (!is_cut).then(|| parse_length(value)).flatten();
        } else if name.eq_ignore_ascii_case(b"upgrade") {
            self.upgrades = true;
        }
        None
    }

    fn end(&self) -> End {
        match (self.encodings, self.lengths, self.length) {
            (0, 0, _) if self.upgrades => End::Elsewhere,
            (0, 0, _) => End::After(0),
            (0, 1, Some(_)) if self.upgrades => End::Elsewhere,
            (0, 1, Some(length)) => End::After(length),
            (1, 0, _) if self.is_chunked => End::Elsewhere,
            _ => End::Ambiguous,
        }
    }
}

fn parse_length(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    is_number.then(|| std::str::from_utf8(value).ok()?.parse().ok()).flatten()
}

impl<S> Watched<S> {
    fn look(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match &mut self.at {
                At::Beyond => return,
                At::Body(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    *left -= taken as u64;
                    bytes = &bytes[taken..];
                    if *left == 0 {
                        self.at = At::default();
                    }
                }
                At::Head(head) => {
                    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
                        head.extend(bytes);
                        return;
                    };
                    head.extend(&bytes[..end]);
                    bytes = &bytes[end + 1..];
                    if let Some(end) = head.end_line() {
                        self.requests += 1;
                        self.at = self.after_head(end);
                    }
                }
            }
        }
    }

    fn after_head(&self, end: End) -> At {
        match end {
            End::After(0) => At::default(),
            End::After(bytes) => At::Body(bytes),
            End::Elsewhere => At::Beyond,
            End::Ambiguous => {
                self.ambiguous.store(self.requests, Ordering::Release);
                At::Beyond
            }
        }
    }
}

impl<S: AsyncRead + Unpin> Watched<S> {
    /// Waits until the first head has arrived or is too long, or until the stream ends.
    ///
    /// # Errors
    /// The error with which the connection broke.
    pub async fn first_head(&mut self) -> io::Result<()> {
        poll_fn(|context| self.poll_first_head(context)).await
    }

    fn poll_first_head(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.requests == 0 && self.held.len() <= REQUEST_HEAD_BYTES {
            let mut piece = [0; FIRST_HEAD_READ_BYTES];
            let mut buffer = ReadBuf::new(&mut piece);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            if buffer.filled().is_empty() {
                break;
            }
            self.look(buffer.filled());
            self.held.extend_from_slice(buffer.filled());
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.held.is_empty() {
            let taken = self.held.len().min(buffer.remaining());
            buffer.put_slice(&self.held.split_to(taken));
            if self.held.is_empty() {
                self.held = BytesMut::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.look(&buffer.filled()[before..]);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    /// The number of the ambiguous request, and the number of requests checked, for bytes that arrive in pieces of every size.
    fn look(bytes: &str) -> (u64, u64) {
        let results = (1..=bytes.len()).map(|size| {
            let framing = Framing::default();
            let mut watched = framing.watch(());
            bytes.as_bytes().chunks(size).for_each(|piece| watched.look(piece));
            (framing.ambiguous.load(Ordering::Relaxed), watched.requests)
        });
        let results: Vec<_> = results.collect();
        assert!(
            results.windows(2).all(|two| two[0] == two[1]),
            "the result depends on the size of the pieces: {results:?}"
        );
        results[0]
    }

    /// The part of `bytes` that hyper can read once the first head has arrived, if nothing more arrives after them.
    async fn read_after_first_head(bytes: &[u8]) -> Vec<u8> {
        let mut watched = Framing::default().watch(bytes);
        watched.first_head().await.unwrap();
        let mut read = Vec::new();
        watched.read_to_end(&mut read).await.unwrap();
        read
    }

    #[tokio::test]
    async fn a_first_head_is_held_until_it_is_whole_and_nothing_is_lost() {
        let (mut theirs, ours) = tokio::io::duplex(64 * 1024);
        let framing = Framing::default();
        let mut watched = framing.watch(ours);
        theirs.write_all(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n").await.unwrap();
        let waits = poll_fn(|context| Poll::Ready(watched.poll_first_head(context).is_pending())).await;
        assert!(waits);
        theirs.write_all(b"\r\nhiGET / HTTP/1.1\r\n\r\n").await.unwrap();
        watched.first_head().await.unwrap();
        drop(theirs);
        let mut read = String::new();
        watched.read_to_string(&mut read).await.unwrap();
        assert_eq!(read, "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhiGET / HTTP/1.1\r\n\r\n");
        assert_eq!((watched.requests, watched.held.capacity()), (2, 0));
    }

    #[tokio::test]
    async fn a_head_that_ends_early_or_never_is_read_all_the_same() {
        for bytes in [&b""[..], b"GET / HT", &[b'x'; 3 * REQUEST_HEAD_BYTES]] {
            assert_eq!(read_after_first_head(bytes).await, bytes);
        }
    }

    #[test]
    fn requests_with_one_end_follow_one_another() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post = "POST / HTTP/1.1\r\ncontent-LENGTH:  5 \r\nHost: a\r\n\r\n\r\n\r\nX";
        let chunked = "PUT / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
        assert_eq!(look(&format!("{get}{post}\r\n{get}{post}")), (0, 4));
        assert_eq!(look(&format!("{get}{chunked}5\r\nhello\r\n")), (0, 2));
        assert_eq!(look("GET / HTTP/1.1\nHost: a\n\nGET / HTTP/1.1\n\n"), (0, 2));
    }

    #[test]
    fn a_request_with_two_ends_is_found_wherever_it_stands() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        for lines in [
            "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "content-length: 5\r\nX: y\r\nTRANSFER-ENCODING:chunked",
            "Content-Length: 5\r\nContent-Length: 6",
            "Content-Length: 5\r\nContent-Length: 5",
            "Content-Length: 5, 5",
            "Content-Length: +5",
            "Content-Length:",
            "Content-Length: 99999999999999999999999",
            "Transfer-Encoding: chunked, identity",
            "Transfer-Encoding: identity, chunked",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding:                                                                       chunked",
        ] {
            let ambiguous = format!("POST / HTTP/1.1\r\n{lines}\r\n\r\n");
            assert_eq!(look(&format!("{get}{ambiguous}{get}")), (2, 2), "{lines}");
        }
    }

    #[test]
    fn the_words_mean_nothing_in_a_body_or_in_another_header() {
        let body = "\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n";
        let length = body.len();
        assert_eq!(look(&format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}")), (0, 1));
        assert_eq!(look("GET / HTTP/1.1\r\nX-Content-Length: 5\r\nX: Transfer-Encoding: a\r\n\r\n"), (0, 1));
    }
}
