//! From the listening socket to the router: connections, TLS, limits.
//!
//! An own loop, since a runner's socket lives for months: its buffers must be small, and what it may send before it
//! has registered is counted here, beneath HTTP and WebSocket, where nothing has been buffered yet.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use sandbox::{MessageAccount, MessageBudget};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::limits::{ACCEPT_PAUSE, HEAD_TIMEOUT, HTTP_BUFFER_BYTES, MAX_CONNECTIONS};
use crate::web::framing::{Framing, close_after};

/// What a handler may know of the connection its request came by; a request's extension.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The other end.
    pub peer: SocketAddr,
    /// What it may still send.
    pub budget: Arc<ReadBudget>,
}

/// How many bytes a connection may still send; beyond it, it ends.
#[derive(Debug)]
pub struct ReadBudget {
    left_bytes: AtomicU64,
    /// What is counted instead, once messages may be large: those of all connections share one budget.
    shared: OnceLock<MessageAccount>,
}

impl ReadBudget {
    /// No limit.
    const UNLIMITED: u64 = u64::MAX;

    fn unlimited() -> Self {
        Self { left_bytes: AtomicU64::new(Self::UNLIMITED), shared: OnceLock::new() }
    }

    /// Limits what is read from now on.
    pub fn limit(&self, bytes: u64) {
        self.left_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Takes the limit away.
    pub fn lift(&self) {
        self.limit(Self::UNLIMITED);
    }

    /// Counts from now on what arrives of a message against a budget that is shared, in place of any limit.
    pub fn share(&self, budget: &MessageBudget) {
        self.shared.get_or_init(|| budget.account());
        self.lift();
    }

    /// A message was handed over whole; what it holds is no longer this connection's affair.
    pub fn arrived(&self) {
        if let Some(account) = self.shared.get() {
            account.release();
        }
    }

    fn spend(&self, bytes: u64) -> bool {
        if let Some(account) = self.shared.get() {
            return account.take(bytes);
        }
        match self.left_bytes.load(Ordering::Relaxed) {
            Self::UNLIMITED => true,
            left if bytes <= left => {
                // A limit set or lifted in between stands: it was meant for what comes after these bytes.
                let (old, new) = (left, left - bytes);
                let _ = self.left_bytes.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }
}

/// Serves connections until `shutdown`, then lets those under way finish their request. Returns at once then: what
/// still runs is in `tasks`.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    tasks: TaskTracker,
    shutdown: CancellationToken,
) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let accepted = async {
            let permit = Arc::clone(&connections).acquire_owned().await;
            (listener.accept().await, permit.expect("the semaphore is never closed"))
        };
        let (accepted, permit) = tokio::select! {
            accepted = accepted => accepted,
            () = shutdown.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let (tls, router, shutdown) = (tls.clone(), router.clone(), shutdown.clone());
                tasks.spawn(async move {
                    if let Err(error) = connection(stream, peer, permit, tls, router, shutdown).await {
                        tracing::debug!(%peer, %error, "a connection ended");
                    }
                });
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(
    stream: TcpStream,
    peer: SocketAddr,
    permit: OwnedSemaphorePermit,
    tls: Option<TlsAcceptor>,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let budget = Arc::new(ReadBudget::unlimited());
    let connection = Connection { peer, budget: Arc::clone(&budget) };
    let stream = Budgeted { stream, budget, _permit: permit };
    match tls {
        None => http(stream, connection, router, shutdown).await,
        Some(acceptor) => {
            let handshake = timeout(HEAD_TIMEOUT, acceptor.accept(stream));
            let stream = tokio::select! {
                stream = handshake => stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
                () = shutdown.cancelled() => return Ok(()),
            };
            http(stream, connection, router, shutdown).await
        }
    }
}

async fn http<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    connection: Connection,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let framing = Framing::default();
    let stream = framing.watch(stream);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(connection.clone());
        let is_last = framing.enter(&mut request);
        // A router is always ready: it has no back-pressure of its own.
        let answer = router.clone().call(request);
        async move {
            let mut response = answer.await?;
            if is_last {
                close_after(&mut response);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut served = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_buf_size(HTTP_BUFFER_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades()
    );
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shutdown.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    ended.map_err(io::Error::other)
}

/// A stream whose reading is counted, and which holds its place among the connections for as long as it lives.
struct Budgeted {
    stream: TcpStream,
    budget: Arc<ReadBudget>,
    _permit: OwnedSemaphorePermit,
}

impl AsyncRead for Budgeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = (buffer.filled().len() - before) as u64;
        if self.budget.spend(read) {
            return Poll::Ready(Ok(()));
        }
        let reason =
            "more was sent than is allowed before a runner has registered, or than there is room for";
        Poll::Ready(Err(io::Error::new(io::ErrorKind::QuotaExceeded, reason)))
    }
}

impl AsyncWrite for Budgeted {
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
    use super::*;

    #[test]
    fn a_budget_ends_when_it_is_spent_and_can_be_lifted() {
        let budget = ReadBudget::unlimited();
        assert!(budget.spend(u64::MAX - 1));
        budget.limit(10);
        assert!(budget.spend(4) && budget.spend(6));
        assert!(!budget.spend(1));
        budget.lift();
        assert!(budget.spend(1 << 40));
    }

    #[tokio::test]
    async fn connections_that_share_a_budget_give_back_what_arrived_whole_or_never_will() {
        let router = sandbox::SandboxRouter::new(sandbox::RouterConfig::default());
        let [one, other] = [(); 2].map(|()| ReadBudget::unlimited());
        one.limit(10);
        one.share(router.message_budget());
        other.share(router.message_budget());
        let rest = 1024 * 1024 * 1024 - 20;
        assert!(one.spend(20) && other.spend(rest) && !one.spend(1));
        one.arrived();
        assert!(other.spend(20) && !one.spend(1));
        drop(other);
        assert!(one.spend(rest));
    }
}
