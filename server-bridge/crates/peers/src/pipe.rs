//! Copies bytes in both directions between two connections. While nothing moves, a pipe has no buffer: it reads into its thread's buffer, and keeps
//! only the bytes that could not be written at once.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf, split};

use crate::limits::PIPE_BYTES;

thread_local! {
    static READ: RefCell<Vec<u8>> = RefCell::new(vec![0; PIPE_BYTES]);
}

/// Copies until both directions have ended, or one has failed.
///
/// # Errors
/// The first failure of either connection.
pub async fn both_ways<A, B>(one: A, other: B) -> io::Result<()>
where
    A: AsyncRead + AsyncWrite + Unpin,
    B: AsyncRead + AsyncWrite + Unpin,
{
    let ((mut one_read, mut one_write), (mut other_read, mut other_write)) = (split(one), split(other));
    let there = one_way(&mut one_read, &mut other_write);
    let back = one_way(&mut other_read, &mut one_write);
    tokio::try_join!(there, back).map(drop)
}

async fn one_way<R, W>(from: &mut R, to: &mut W) -> io::Result<()>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    loop {
        let Some(rest) = poll_fn(|context| step(from, to, context)).await? else {
            return to.shutdown().await;
        };
        if !rest.is_empty() {
            to.write_all(&rest).await?;
        }
        to.flush().await?;
    }
}

/// Reads once and writes as much as possible; returns the bytes left to write, or `None` at the end of the stream.
fn step<R, W>(from: &mut R, to: &mut W, context: &mut Context<'_>) -> Poll<io::Result<Option<Vec<u8>>>>
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
{
    READ.with_borrow_mut(|buffer| {
        let mut read = ReadBuf::new(buffer);
        ready!(Pin::new(from).poll_read(context, &mut read))?;
        let read = read.filled();
        if read.is_empty() {
            return Poll::Ready(Ok(None));
        }
        let written = match Pin::new(to).poll_write(context, read) {
            Poll::Ready(written) => written?,
            Poll::Pending => 0,
        };
        Poll::Ready(Ok(Some(read[written..].to_vec())))
    })
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, duplex};

    use super::*;

    #[tokio::test]
    async fn everything_arrives_in_both_directions_through_a_narrow_pipe() {
        let (mut client, entry) = duplex(100);
        let (home, mut server) = duplex(333);
        let pipe = tokio::spawn(both_ways(entry, home));
        let data: Vec<u8> = (0..300_000_u32).map(|number| number.to_le_bytes()[0]).collect();
        let echo = tokio::spawn(async move {
            let (mut read, mut write) = tokio::io::split(&mut server);
            tokio::io::copy(&mut read, &mut write).await.unwrap();
            write.shutdown().await.unwrap();
        });
        let sent = data.clone();
        let (mut read, mut write) = tokio::io::split(&mut client);
        let mut back = Vec::new();
        let (_, got) = tokio::join!(
            async {
                write.write_all(&sent).await.unwrap();
                write.shutdown().await.unwrap();
            },
            read.read_to_end(&mut back)
        );
        got.unwrap();
        assert!(back == data);
        echo.await.unwrap();
        pipe.await.unwrap().unwrap();
    }
}
