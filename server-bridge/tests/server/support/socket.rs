//! A WebSocket client that never waits forever.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, client_async, connect_async};

use super::PATIENCE;

/// A frame that arrived, or the end of the socket.
#[derive(Debug, PartialEq)]
pub enum Frame {
    Json(Value),
    Binary(Bytes),
    /// The socket has ended, for any reason.
    Closed,
}

pub struct Socket(pub WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Socket {
    /// Connects; if the connection is refused, returns the status.
    pub async fn connect(url: &str, headers: &[(&str, &str)]) -> Result<Self, u16> {
        let mut request = url.into_client_request().unwrap();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            request.headers_mut().insert(name, HeaderValue::try_from(*value).unwrap());
        }
        match connect_async(request).await {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Connects with a small buffer for unread data.
    pub async fn connect_narrow(url: &str, bearer: &str) -> Self {
        let mut request = url.into_client_request().unwrap();
        let authorization = HeaderValue::try_from(format!("Bearer {bearer}")).unwrap();
        request.headers_mut().insert("authorization", authorization);
        let address = request.uri().authority().unwrap().as_str().parse().unwrap();
        let stream = TcpSocket::new_v4().unwrap();
        stream.set_recv_buffer_size(4096).unwrap();
        let stream = MaybeTlsStream::Plain(stream.connect(address).await.unwrap());
        Self(client_async(request, stream).await.unwrap().0)
    }

    pub async fn text(&mut self, text: &str) {
        self.0.send(Message::text(text)).await.unwrap();
    }

    pub async fn json(&mut self, value: Value) {
        self.text(&value.to_string()).await;
    }

    pub async fn binary(&mut self, bytes: Vec<u8>) {
        self.0.send(Message::binary(bytes)).await.unwrap();
    }

    pub async fn next(&mut self) -> Frame {
        loop {
            let message = timeout(PATIENCE, self.0.next()).await.expect("a frame arrives in time");
            return match message {
                Some(Ok(Message::Text(text))) => Frame::Json(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Binary(bytes))) => Frame::Binary(bytes),
                Some(Ok(Message::Close(_)) | Err(_)) | None => Frame::Closed,
                Some(Ok(_)) => continue,
            };
        }
    }

    /// Reads until a text frame for which `wanted` returns true; returns that frame.
    pub async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.next().await {
                Frame::Json(value) if wanted(&value) => return value,
                Frame::Closed => panic!("the socket closed before that frame"),
                _ => {}
            }
        }
    }

    /// Reads everything to the end: standard output, standard error, the last text frame.
    pub async fn output(&mut self) -> (Vec<u8>, Vec<u8>, Value) {
        let (mut stdout, mut stderr, mut last) = (Vec::new(), Vec::new(), Value::Null);
        loop {
            match self.next().await {
                Frame::Binary(bytes) if bytes[0] == 1 => stdout.extend_from_slice(&bytes[1..]),
                Frame::Binary(bytes) => stderr.extend_from_slice(&bytes[1..]),
                Frame::Json(value) => last = value,
                Frame::Closed => return (stdout, stderr, last),
            }
        }
    }
}
