//! One request over its own HTTP/1.1 connection, and the response, piece by piece.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;

use super::connection::Connection;
use super::http::Socket;

/// A body that is already complete.
pub(crate) struct Whole(pub(crate) Bytes);

impl Body for Whole {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = std::mem::take(&mut self.0);
        Poll::Ready((!bytes.is_empty()).then_some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.len() as u64)
    }
}

/// The limits on a response's status and headers.
#[derive(Clone, Copy)]
pub(crate) struct HeadBounds {
    /// The maximum size of the status and the headers together, in bytes.
    pub(crate) bytes: usize,
    /// The maximum number of headers.
    pub(crate) headers: usize,
}

/// A response whose body has not been read. Dropping this closes the connection.
pub(crate) struct Exchange {
    connection: Connection,
    response: Response<Incoming>,
}

impl Exchange {
    /// Sends the request, and waits for the headers. A redirect is returned like any other response, and is not followed.
    pub(crate) async fn begin(
        socket: Box<dyn Socket>,
        request: Request<Whole>,
        bounds: HeadBounds,
    ) -> hyper::Result<Self> {
        let (mut sender, connection) = http1::Builder::new()
            .max_buf_size(bounds.bytes)
            .max_headers(bounds.headers)
            .handshake::<_, Whole>(TokioIo::new(socket))
            .await?;
        let mut connection = Connection::new(connection);
        let response = connection.beside(sender.send_request(request)).await?;
        Ok(Self { connection, response })
    }

    /// The status and the headers.
    pub(crate) fn head(&self) -> &Response<Incoming> {
        &self.response
    }

    /// The next piece, as it arrived; `None` at the end.
    pub(crate) async fn next(&mut self) -> hyper::Result<Option<Bytes>> {
        let Self { connection, response } = self;
        loop {
            let frame = poll_fn(|cx| Pin::new(response.body_mut()).poll_frame(cx));
            match connection.beside(frame).await {
                None => return Ok(None),
                Some(frame) => {
                    if let Ok(bytes) = frame?.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }
}
