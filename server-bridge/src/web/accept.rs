//! From the listening socket to the router: connections, TLS, limits.
//!
//! The loop is custom, because a runner's socket stays open for months: its buffers must be small, and the bytes that it sends
//! before it is registered are counted here, below HTTP and WebSocket, where nothing has been buffered yet.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use sandbox::{MessageAccount, MessageBudget};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service;

use crate::limits::{
    ACCEPT_PAUSE, HEAD_TIMEOUT, HTTP_BUFFER_BYTES, MAX_CONNECTIONS, REQUEST_HEAD_BYTES, TLS_BUFFER_BYTES,
};
use crate::web::body::{GuardedBody, Proof};
use crate::web::forwarded::TrustedProxies;
use crate::web::framing::{Framing, Watched, close_after};
use crate::web::proxy_protocol;
use crate::web::rate::address_key;
use crate::web::standing::{Lobby, Standing};
use crate::web::stream::ClientStream;

/// A connection as its handlers see it; attached to each request as an extension.
#[derive(Debug, Clone)]
pub struct Connection {
    /// The address of the other end.
    pub peer: SocketAddr,
    /// The sender of the request: the other end, or the client that a trusted proxy named.
    pub client: IpAddr,
    /// How much the connection may still send.
    pub budget: Arc<ReadBudget>,
    /// The limits that apply until a sender on the connection has authenticated.
    pub standing: Arc<Standing>,
    /// True if the sender of this request has authenticated.
    proof: Proof,
}

impl Connection {
    /// A connection before its first request.
    pub(in crate::web) fn new(peer: SocketAddr, budget: Arc<ReadBudget>, standing: Arc<Standing>) -> Self {
        Self { peer, client: peer.ip().to_canonical(), budget, standing, proof: Proof::default() }
    }

    /// Prepares a request of `client` on this connection: the request gets its own [`Proof`], and little of its body is read until
    /// the sender has authenticated.
    pub(in crate::web) fn of_request(&self, client: IpAddr, request: Request<Incoming>) -> Request<Body> {
        // Another request on the same connection may come from another person: a proxy's connection carries many people's requests.
        let proof = Proof::default();
        let guard = |body| Body::new(GuardedBody::new(body, proof.clone(), Arc::clone(&self.standing)));
        let mut request = request.map(guard);
        request.extensions_mut().insert(Self { client, proof, ..self.clone() });
        request
    }

    /// Records that the sender of this request has authenticated: by a session, a key, a password or a runner's token.
    pub fn prove(&self) {
        self.proof.give();
        self.standing.prove();
    }
}

/// How many bytes a connection may still send; a connection that sends more is closed.
#[derive(Debug)]
pub struct ReadBudget {
    left_bytes: AtomicU64,
    /// The account in the budget shared by all connections; replaces `left_bytes` once messages may be large.
    shared: OnceLock<MessageAccount>,
}

impl ReadBudget {
    /// The value of a budget without a limit.
    const UNLIMITED: u64 = u64::MAX;

    pub(in crate::web) fn unlimited() -> Self {
        Self { left_bytes: AtomicU64::new(Self::UNLIMITED), shared: OnceLock::new() }
    }

    /// Limits the bytes read from now on.
    pub fn limit(&self, bytes: u64) {
        self.left_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Removes the limit.
    pub fn lift(&self) {
        self.limit(Self::UNLIMITED);
    }

    /// Counts the bytes that arrive from now on against a shared budget, instead of any limit.
    pub fn share(&self, budget: &MessageBudget) {
        self.shared.get_or_init(|| budget.account());
        self.lift();
    }

    /// Records that a message was handed over completely: its memory no longer counts as this connection's.
    pub fn arrived(&self) {
        if let Some(account) = self.shared.get() {
            account.release();
        }
    }

    /// Counts bytes that arrived; returns false if they exceed the limit.
    pub(in crate::web) fn spend(&self, bytes: u64) -> bool {
        if let Some(account) = self.shared.get() {
            return account.take(bytes);
        }
        match self.left_bytes.load(Ordering::Relaxed) {
            Self::UNLIMITED => true,
            left if bytes <= left => {
                // A limit set or lifted in between stays: it applies to later bytes.
                let (old, new) = (left, left - bytes);
                let _ = self.left_bytes.compare_exchange(old, new, Ordering::Relaxed, Ordering::Relaxed);
                true
            }
            _ => false,
        }
    }
}

/// Everything that serves accepted connections.
#[derive(Clone)]
pub struct Site {
    /// Accepts TLS, if the server uses it.
    pub tls: Option<TlsAcceptor>,
    /// The proxies whose statements about clients are trusted.
    pub proxies: Arc<TrustedProxies>,
    /// Every route.
    pub router: Router,
}

/// Serves connections until `shutdown`, and returns at once then; requests in progress may finish, as part of `tasks`.
pub async fn serve(listener: TcpListener, site: Site, tasks: TaskTracker, shutdown: CancellationToken) {
    accept_each(listener, &shutdown, |stream, connection| {
        let (peer, site, shutdown) = (connection.peer, site.clone(), shutdown.clone());
        tasks.spawn(async move {
            if let Err(error) = serve_one(stream, connection, site, shutdown).await {
                tracing::debug!(%peer, %error, "a connection ended");
            }
        });
    })
    .await;
}

/// Hands each connection of a listener to `serve` until `shutdown`, at most [`MAX_CONNECTIONS`] at once.
pub(in crate::web) async fn accept_each(
    listener: TcpListener,
    shutdown: &CancellationToken,
    mut serve: impl FnMut(ClientStream<TcpStream>, Connection),
) {
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let lobby = Lobby::new(getrlimit(Resource::Nofile).current);
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
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%peer, %error, "a connection ended as it began");
                    continue;
                }
                let standing = Arc::new(lobby.enter(address_key(peer.ip())));
                let budget = Arc::new(ReadBudget::unlimited());
                let stream = ClientStream::new(stream, Arc::clone(&budget), Arc::clone(&standing), permit);
                serve(stream, Connection::new(peer, budget, standing));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_one(
    mut stream: ClientStream<TcpStream>,
    mut connection: Connection,
    site: Site,
    shutdown: CancellationToken,
) -> io::Result<()> {
    if site.proxies.expects_proxy_header(connection.client) {
        let source = tokio::select! {
            source = timeout(HEAD_TIMEOUT, Box::pin(proxy_protocol::read(&mut stream))) => source,
            () = shutdown.cancelled() => return Ok(()),
        };
        let source = source.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?;
        if let Some(client) = source.map_err(io::Error::other)? {
            connection.client = client;
            connection.standing.move_to(address_key(client));
        }
    }
    // Each future is boxed separately, because a future is as large as the largest one that it may ever wait for.
    match site.tls.clone() {
        None => Box::pin(http(stream, connection, site, shutdown)).await,
        Some(acceptor) => {
            let limit =
                |session: &mut rustls::ServerConnection| session.set_buffer_limit(Some(TLS_BUFFER_BYTES));
            let handshake = timeout(HEAD_TIMEOUT, Box::pin(acceptor.accept_with(stream, limit)));
            let stream = tokio::select! {
                stream = handshake => stream.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??,
                () = shutdown.cancelled() => return Ok(()),
            };
            Box::pin(http(stream, connection, site, shutdown)).await
        }
    }
}

async fn http<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: S,
    connection: Connection,
    site: Site,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let framing = Framing::default();
    let mut stream = framing.watch(stream);
    tokio::select! {
        head = timeout(HEAD_TIMEOUT, stream.first_head()) => {
            head.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        }
        () = shutdown.cancelled() => return Ok(()),
    }
    Box::pin(requests(stream, framing, connection, site, shutdown)).await
}

async fn requests<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: Watched<S>,
    framing: Framing,
    connection: Connection,
    site: Site,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let service = service_fn(move |request: Request<Incoming>| {
        let standing = Arc::clone(&connection.standing);
        let client = site.proxies.client(connection.client, request.headers());
        if client != connection.client {
            connection.standing.move_to(address_key(client));
        }
        let mut request = connection.of_request(client, request);
        let is_last = framing.enter(&mut request);
        // A router is always ready: it has no back-pressure.
        let answer = site.router.clone().call(request);
        async move {
            let mut response = answer.await?;
            if is_last || standing.ends_with_answer() {
                close_after(&mut response);
            }
            Ok::<_, Infallible>(response)
        }
    });
    let mut served = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIMEOUT)
            .max_header_size(REQUEST_HEAD_BYTES)
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
