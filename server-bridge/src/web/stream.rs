//! A connection's bytes: reads are counted, and a connection whose other end reads nothing is closed.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Sleep, sleep};

use crate::limits::UNPROVEN_READ_BYTES;
use crate::web::accept::ReadBudget;
use crate::web::standing::Standing;

/// A stream that counts what is read from it, and keeps the connection's seat for as long as it exists.
pub struct ClientStream<S> {
    stream: S,
    budget: Arc<ReadBudget>,
    standing: Arc<Standing>,
    stall: Stall,
    _permit: OwnedSemaphorePermit,
}

impl<S> ClientStream<S> {
    /// Wraps `stream` and counts what is read from it.
    pub fn new(
        stream: S,
        budget: Arc<ReadBudget>,
        standing: Arc<Standing>,
        permit: OwnedSemaphorePermit,
    ) -> Self {
        Self { stream, budget, standing, stall: Stall::default(), _permit: permit }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        if self.standing.is_proven() {
            ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        } else {
            self.standing.check_reader(context)?;
            // Read in small parts, because the layer that reads from this stream enlarges its buffer for a peer that fills it.
            let room = UNPROVEN_READ_BYTES.min(buffer.remaining());
            let mut part = ReadBuf::new(buffer.initialize_unfilled_to(room));
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
            let read = part.filled().len();
            buffer.advance(read);
            self.standing.received(read as u64);
        }
        let read = (buffer.filled().len() - before) as u64;
        if self.budget.spend(read) {
            return Poll::Ready(Ok(()));
        }
        let reason = "the other end sent more than is allowed before a runner has registered, or than there is memory for";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, reason)))
    }
}

impl<S: AsyncWrite + Unpin> ClientStream<S> {
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_pending() {
            self.standing.check_writer(context)?;
            self.standing.is_behind();
        }
        let timeout = self.standing.stall_timeout();
        self.stall.watch(context, timeout, written)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.written(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.written(context, written)
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

/// Detects that the other end reads nothing, by measuring the time since the last successful write while data is pending.
#[derive(Default)]
struct Stall(Option<Pin<Box<Sleep>>>);

impl Stall {
    /// Passes on the result of a write; returns an error once nothing could be written for `timeout`.
    fn watch<T>(
        &mut self,
        context: &mut Context<'_>,
        timeout: Duration,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.0 = None;
            return written;
        }
        let timer = self.0.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        let reason = "the other end has not read anything for too long";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, reason)))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::sync::Semaphore;
    use tokio::time::{Instant, timeout};

    use super::*;
    use crate::limits::{WRITE_STALL_TIMEOUT, WRITE_STALL_TIMEOUT_OF_READERS_WHO_PAUSE};
    use crate::web::standing::Lobby;

    /// More bytes than fit into the buffer between the two ends.
    const MUCH: [u8; 4096] = [7; 4096];

    fn stream() -> (ClientStream<tokio::io::DuplexStream>, Arc<Standing>, tokio::io::DuplexStream) {
        let standing = Arc::new(Lobby::new(None).enter([192, 0, 2, 1].into()));
        let (ours, theirs) = duplex(1024);
        let permit = Arc::new(Semaphore::new(1)).try_acquire_owned().unwrap();
        let budget = Arc::new(ReadBudget::unlimited());
        (ClientStream::new(ours, budget, Arc::clone(&standing), permit), standing, theirs)
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_reads_nothing_is_given_up() {
        for is_proven in [false, true] {
            let (mut stream, standing, _theirs) = stream();
            if is_proven {
                standing.prove();
            }
            let began = Instant::now();
            let error = stream.write_all(&MUCH).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            assert!(began.elapsed() >= WRITE_STALL_TIMEOUT && began.elapsed() < 2 * WRITE_STALL_TIMEOUT);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_end_that_reads_slowly_is_served_to_the_last_byte() {
        let (mut stream, _, mut theirs) = stream();
        let reading = tokio::spawn(async move {
            let mut read = vec![0; MUCH.len()];
            for piece in read.chunks_mut(512) {
                sleep(WRITE_STALL_TIMEOUT - Duration::from_secs(1)).await;
                theirs.read_exact(piece).await.unwrap();
            }
            read
        });
        stream.write_all(&MUCH).await.unwrap();
        assert_eq!(reading.await.unwrap(), MUCH);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_may_pause_is_waited_for_and_not_for_ever() {
        let (mut stream, standing, _theirs) = stream();
        standing.prove();
        standing.allow_pauses();
        let patience = WRITE_STALL_TIMEOUT_OF_READERS_WHO_PAUSE - Duration::from_secs(1);
        assert!(timeout(patience, stream.write_all(&MUCH)).await.is_err());
        let error = stream.write_all(&MUCH).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_end_that_is_sent_nothing_is_no_stall() {
        let (mut stream, _, mut theirs) = stream();
        stream.write_all(b"hello").await.unwrap();
        sleep(10 * WRITE_STALL_TIMEOUT).await;
        stream.write_all(b"again").await.unwrap();
        let mut read = [0; 10];
        theirs.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"helloagain");
    }

    #[tokio::test]
    async fn strangers_are_read_a_little_at_a_time() {
        let (mut stream, standing, mut theirs) = stream();
        let mut buffer = vec![0; 64 * 1024];
        theirs.write_all(&[1; 1000]).await.unwrap();
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 1000);
        standing.prove();
        theirs.write_all(&[2; 1000]).await.unwrap();
        assert_eq!(stream.read(&mut buffer[1000..]).await.unwrap(), 1000);
        assert!(
            buffer[..1000].iter().all(|byte| *byte == 1) && buffer[1000..2000].iter().all(|byte| *byte == 2)
        );
    }
}
