//! Tests with two nodes, and with programs that are not nodes, on real sockets.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use store::{NodeState, PeerNode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::caller::Error;
use crate::tls;
use crate::{NodeKey, Peers};

/// A node that answers each request with its body.
struct Node {
    peers: Peers,
    row: PeerNode,
}

async fn node(id: &str) -> Node {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let key = NodeKey::generate().unwrap();
    let row = PeerNode {
        id: id.to_owned(),
        url: url.clone(),
        version: "0.1.0".to_owned(),
        public_key: key.public().to_vec(),
        state: NodeState::Up,
        homes: 0,
    };
    let peers = Peers::new(key, &url).unwrap();
    let accepting = peers.clone();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let accepting = accepting.clone();
            tokio::spawn(async move {
                let Ok((stream, _)) = accepting.accept(stream).await else { return };
                let echo = service_fn(async |request: Request<hyper::body::Incoming>| {
                    Ok::<_, io::Error>(Response::new(Body::new(request.into_body())))
                });
                let _ = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), echo)
                    .await;
            });
        }
    });
    Node { peers, row }
}

fn know(nodes: &[&Node]) {
    for node in nodes {
        node.peers.directory().set(nodes.iter().map(|node| node.row.clone()).collect());
    }
}

async fn say(from: &Node, to: &PeerNode, text: &str) -> Result<Vec<u8>, Error> {
    let request = Request::post("/echo").header("host", "bridge").body(Body::from(text.to_owned())).unwrap();
    let answer = from.peers.send(to, request).await.map_err(|failed| failed.error)?;
    Ok(to_bytes(Body::new(answer.into_body()), usize::MAX).await.unwrap().to_vec())
}

#[tokio::test]
async fn nodes_that_know_each_other_exchange_requests_and_keep_the_connection() {
    let (one, other) = (node("1").await, node("2").await);
    know(&[&one, &other]);
    for text in ["hello", "", "again"] {
        assert_eq!(say(&one, &other.row, text).await.unwrap(), text.as_bytes());
    }
    assert_eq!(say(&other, &one.row, "back").await.unwrap(), b"back");
    one.peers.check_own_url().await.unwrap();
}

#[tokio::test]
async fn a_node_that_is_in_no_list_is_refused_until_it_is_listed() {
    let (one, new) = (node("1").await, node("2").await);
    one.peers.directory().set(vec![one.row.clone()]);
    let refused = say(&new, &one.row, "hello").await.unwrap_err();
    assert!(matches!(refused, Error::Refused { .. }), "{refused}");
    let (saying, listing) = tokio::join!(say(&new, &one.row, "hello"), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        one.peers.directory().set(vec![one.row.clone(), new.row.clone()]);
    });
    assert_eq!((saying.unwrap().as_slice(), listing), (&b"hello"[..], ()));
}

#[tokio::test]
async fn a_url_that_leads_to_the_caller_or_to_a_stranger_is_named() {
    let (one, other, third) = (node("1").await, node("2").await, node("3").await);
    know(&[&one, &other, &third]);
    let wrong = |url: &str| PeerNode { url: url.to_owned(), ..other.row.clone() };
    let itself = say(&one, &wrong(&one.row.url), "hello").await.unwrap_err();
    assert!(itself.to_string().contains("leads to this node itself"), "{itself}");
    let stranger = say(&one, &wrong(&third.row.url), "hello").await.unwrap_err();
    assert!(stranger.to_string().contains("leads to another program"), "{stranger}");
    let nobody = say(&one, &wrong("http://127.0.0.1:1"), "hello").await.unwrap_err();
    assert!(nobody.to_string().starts_with("cannot reach the node at http://127.0.0.1:1: "), "{nobody}");
}

/// Returns the error that a caller gets whose TLS configuration differs from a node's.
async fn knock(to: &Node, config: rustls::ClientConfig) -> io::Error {
    let stream = TcpStream::connect(to.row.url.trim_start_matches("http://")).await.unwrap();
    let name = ServerName::try_from(tls::NAME).unwrap();
    let knocking = async {
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
        stream.read_u8().await
    };
    timeout(Duration::from_secs(5), knocking).await.unwrap().unwrap_err()
}

#[tokio::test]
async fn programs_that_are_no_node_and_other_versions_are_refused_in_the_handshake() {
    let (one, other) = (node("1").await, node("2").await);
    know(&[&one, &other]);
    let key = NodeKey::generate().unwrap();
    let stranger = tls::client(&key, one.row.public_key.clone()).unwrap();
    let refused = knock(&one, stranger).await;
    assert_eq!(tls::alert_of(&refused), Some(rustls::AlertDescription::AccessDenied), "{refused}");

    let mut newer = tls::client(&key, one.row.public_key.clone()).unwrap();
    newer.alpn_protocols = vec![b"sandbridge-peer/2".to_vec()];
    let refused = knock(&one, newer).await;
    assert_eq!(tls::alert_of(&refused), Some(rustls::AlertDescription::NoApplicationProtocol), "{refused}");

    let mut keyless = tls::client(&key, one.row.public_key.clone()).unwrap();
    keyless.client_auth_cert_resolver = Arc::new(Nothing);
    knock(&one, keyless).await;

    let mut plain = TcpStream::connect(one.row.url.trim_start_matches("http://")).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _reset = plain.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
}

/// A client without a key.
#[derive(Debug)]
struct Nothing;

impl rustls::client::ResolvesClientCert for Nothing {
    fn resolve(
        &self,
        _root_hint_subjects: &[&[u8]],
        _sigschemes: &[rustls::SignatureScheme],
    ) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn only_raw_public_keys(&self) -> bool {
        true
    }

    fn has_certs(&self) -> bool {
        false
    }
}
