//! Calls other nodes over connections that are kept.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::{Request, Response, Uri};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::AlertDescription;
use rustls::pki_types::ServerName;
use store::{PeerNode, Store};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector, client};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::directory::Directory;
use crate::key::NodeKey;
use crate::limits::{CONNECT_ATTEMPTS, CONNECT_PAUSE, CONNECT_TIMEOUT, IDLE_CONNECTIONS, WELCOME};
use crate::tls::{self, Mistaken};

/// The reason why another node could not be called. Each text contains the node's URL, and most state what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The node cannot be reached.
    #[error("cannot reach the node at {url}: {source}")]
    Unreachable {
        /// The URL that was called.
        url: String,
        /// The system's error.
        source: io::Error,
    },
    /// The node's URL leads to the caller.
    #[error(
        "the URL {url} of another node leads to this node itself; give each node a --node-url that leads to its own --peer-listen"
    )]
    Itself {
        /// The URL that was called.
        url: String,
    },
    /// The node's URL leads to something else.
    #[error(
        "the URL {url} of a node leads to another program; give each node a --node-url that leads to its own --peer-listen"
    )]
    Stranger {
        /// The URL that was called.
        url: String,
    },
    /// The node speaks another version of the protocol between nodes.
    #[error(
        "the node at {url} (version {version}) speaks another version of the protocol between nodes; run the same version on all nodes"
    )]
    Version {
        /// The URL that was called.
        url: String,
        /// The version of the other node's program.
        version: String,
    },
    /// The node does not accept this node's key.
    #[error("the node at {url} does not know this node; check that both use the same database")]
    Refused {
        /// The URL that was called.
        url: String,
    },
    /// The connection broke before a response arrived.
    #[error("the node at {url} did not answer: {reason}")]
    Broken {
        /// The URL that was called.
        url: String,
        /// The cause, for people.
        reason: String,
    },
}

/// A request that got no response.
#[derive(Debug)]
pub struct Failed {
    /// The reason why there is no response.
    pub error: Error,
    /// The request, if nothing of it was sent.
    pub unsent: Option<Box<Request<Body>>>,
}

/// This node's connections to the others. Cheap to clone; all clones share the same state.
#[derive(Clone)]
pub struct Peers(Arc<Inner>);

struct Inner {
    key: NodeKey,
    url: String,
    directory: Directory,
    acceptor: TlsAcceptor,
    /// Idle connections, by the id of the node that they lead to.
    idle: Mutex<HashMap<String, Vec<SendRequest<Body>>>>,
    tasks: TaskTracker,
}

impl Peers {
    /// Creates the connections of the node with this key and URL.
    ///
    /// # Errors
    /// rustls cannot use the key.
    pub fn new(key: NodeKey, url: &str) -> Result<Self, rustls::Error> {
        let directory = Directory::default();
        let acceptor = TlsAcceptor::from(Arc::new(tls::server(&key, directory.clone())?));
        let (idle, tasks) = (Mutex::default(), TaskTracker::new());
        Ok(Self(Arc::new(Inner { key, url: url.to_owned(), directory, acceptor, idle, tasks })))
    }

    /// Returns the directory of live nodes.
    pub fn directory(&self) -> &Directory {
        &self.0.directory
    }

    /// Returns this node's URL.
    pub fn url(&self) -> &str {
        &self.0.url
    }

    /// Keeps the list of live nodes up to date until `stop`; then closes the idle connections.
    pub async fn keep(&self, store: &Store, stop: &CancellationToken) {
        let forgetting = async {
            loop {
                sleep(CONNECT_TIMEOUT).await;
                self.idle().retain(|id, _| self.0.directory.is_live(id));
            }
        };
        tokio::select! {
            () = self.0.directory.keep(store, stop) => {}
            () = forgetting => {}
        }
        self.idle().clear();
    }

    /// Accepts a caller at the peer listener; returns the node that it proved to be.
    ///
    /// # Errors
    /// The reason, for the log: the caller is not a live node, or speaks another protocol.
    pub async fn accept<S>(
        &self,
        stream: S,
    ) -> io::Result<(tokio_rustls::server::TlsStream<S>, Arc<PeerNode>)>
    where
        S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    {
        let mut stream = self.0.acceptor.accept(stream).await?;
        let session = stream.get_ref().1;
        if session.alpn_protocol().is_none() {
            return Err(io::Error::other("the caller did not name a protocol"));
        }
        let key = session.peer_certificates().and_then(|keys| keys.first());
        let caller = key.and_then(|key| self.0.directory.with_key(key.as_ref()));
        let caller = caller.ok_or_else(|| io::Error::other("the caller is no longer a live node"))?;
        stream.write_all(&[WELCOME]).await?;
        stream.flush().await?;
        Ok((stream, caller))
    }

    /// Sends a request to another node over a kept connection or a new one; returns the response.
    ///
    /// # Errors
    /// [`Failed`].
    pub async fn send(
        &self,
        node: &PeerNode,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Failed> {
        while let Some(mut sender) = self.take_idle(&node.id) {
            match sender.try_send_request(request).await {
                Ok(answer) => {
                    self.keep_idle(&node.id, sender);
                    return Ok(answer);
                }
                Err(mut error) => match error.take_message() {
                    // The listener had already closed this connection.
                    Some(unsent) => request = unsent,
                    None => return Err(broken(node, &error.into_error())),
                },
            }
        }
        let mut sender = match self.connect(node).await {
            Ok(sender) => sender,
            Err(error) => return Err(Failed { error, unsent: Some(Box::new(request)) }),
        };
        match sender.try_send_request(request).await {
            Ok(answer) => {
                self.keep_idle(&node.id, sender);
                Ok(answer)
            }
            Err(mut error) => {
                let unsent = error.take_message().map(Box::new);
                Err(Failed { unsent, ..broken(node, &error.into_error()) })
            }
        }
    }

    /// Checks that this node's own URL leads to it.
    ///
    /// # Errors
    /// [`Error::Stranger`] if it leads elsewhere; [`Error::Unreachable`] or another error if the check is not possible.
    pub async fn check_own_url(&self) -> Result<(), Error> {
        let own = PeerNode {
            id: String::new(),
            url: self.0.url.clone(),
            version: String::new(),
            public_key: self.0.key.public().to_vec(),
            state: store::NodeState::Up,
            homes: 0,
        };
        self.dial(&own).await.map(drop)
    }

    async fn connect(&self, node: &PeerNode) -> Result<SendRequest<Body>, Error> {
        let mut attempts = 1;
        let stream = loop {
            match self.dial(node).await {
                Err(Error::Refused { .. }) if attempts < CONNECT_ATTEMPTS => {
                    attempts += 1;
                    sleep(CONNECT_PAUSE).await;
                }
                dialled => break dialled?,
            }
        };
        let opened = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = opened.map_err(|error| broken(node, &error).error)?;
        self.0.tasks.spawn(async move {
            if let Err(error) = connection.with_upgrades().await {
                tracing::debug!(%error, "a connection to another node ended");
            }
        });
        Ok(sender)
    }

    async fn dial(&self, node: &PeerNode) -> Result<client::TlsStream<TcpStream>, Error> {
        let failed = |error: io::Error| reason(node, error);
        let opening = async {
            let stream = TcpStream::connect(address(&node.url)?).await?;
            stream.set_nodelay(true)?;
            let config = tls::client(&self.0.key, node.public_key.clone()).map_err(io::Error::other)?;
            let name = ServerName::try_from(tls::NAME).map_err(io::Error::other)?;
            let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
            let mut welcome = [0];
            stream.read_exact(&mut welcome).await?;
            if welcome != [WELCOME] {
                return Err(io::Error::other("its first byte was not the welcome byte"));
            }
            Ok(stream)
        };
        match timeout(CONNECT_TIMEOUT, opening).await {
            Ok(opened) => opened.map_err(failed),
            Err(_) => Err(failed(io::ErrorKind::TimedOut.into())),
        }
    }

    fn take_idle(&self, id: &str) -> Option<SendRequest<Body>> {
        let mut idle = self.idle();
        let waiting = idle.get_mut(id)?;
        waiting.retain(|sender| !sender.is_closed());
        let at = waiting.iter().rposition(SendRequest::is_ready)?;
        Some(waiting.swap_remove(at))
    }

    /// Keeps a connection whose response may still be arriving; it is reused once the response has ended.
    fn keep_idle(&self, id: &str, sender: SendRequest<Body>) {
        if sender.is_closed() || !self.0.directory.is_live(id) {
            return;
        }
        let mut idle = self.idle();
        let waiting = idle.entry(id.to_owned()).or_default();
        waiting.retain(|sender| !sender.is_closed());
        if waiting.len() < IDLE_CONNECTIONS {
            waiting.push(sender);
        }
    }

    fn idle(&self) -> MutexGuard<'_, HashMap<String, Vec<SendRequest<Body>>>> {
        // Each change is a single step, so the data stays consistent if another thread panics.
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn broken(node: &PeerNode, error: &hyper::Error) -> Failed {
    let error = Error::Broken { url: node.url.clone(), reason: error.to_string() };
    Failed { error, unsent: None }
}

fn reason(node: &PeerNode, source: io::Error) -> Error {
    let url = node.url.clone();
    match (tls::mistaken_in(&source), tls::alert_of(&source)) {
        (Some(Mistaken::Itself), _) => Error::Itself { url },
        (Some(Mistaken::Stranger), _) => Error::Stranger { url },
        (None, Some(AlertDescription::NoApplicationProtocol)) => {
            Error::Version { url, version: node.version.clone() }
        }
        (None, Some(AlertDescription::AccessDenied)) => Error::Refused { url },
        (None, _) => Error::Unreachable { url, source },
    }
}

/// Returns the host and the port of a node's URL.
fn address(url: &str) -> io::Result<(String, u16)> {
    let invalid =
        |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
    let uri: Uri = url.parse().map_err(|error| invalid(&error))?;
    let host =
        uri.host().ok_or_else(|| invalid(&"the URL names no host"))?.trim_matches(['[', ']']).to_owned();
    let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
    Ok((host, port))
}
