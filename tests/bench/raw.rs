//! The lower bound of a stream: the same frames over a WebSocket that carries nothing else, between the same two
//! processes.

use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use tests::process;
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::remote::{Remote, accept};

/// The size of a frame as in the protocol: 64 KiB of data and a header.
const FRAME_BYTES: usize = 64 * 1024 + 16;

/// The size of the sending process's socket buffers, in bytes.
const RUNNER_BUFFER_BYTES: usize = 16 * 1024;

/// A process that sends frames on request.
pub(crate) struct RawStream {
    socket: Option<WebSocketStream<TcpStream>>,
    sender: Child,
}

impl RawStream {
    pub(crate) fn start(remote: &Remote) -> Self {
        let (socket, sender) = remote.run(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let url = format!("ws://{}", listener.local_addr().unwrap());
            let sender =
                Command::new(std::env::current_exe().unwrap()).arg(url).stdin(Stdio::null()).spawn().unwrap();
            (accept(&listener).await, sender)
        });
        Self { socket: Some(socket), sender }
    }

    /// Requests and receives this many bytes of data.
    pub(crate) fn receive(&mut self, remote: &Remote, bytes: usize) {
        let mut socket = self.socket.take().unwrap();
        let socket = remote.run(async move {
            let frames = (bytes / (FRAME_BYTES - 16)) as u64;
            socket.send(Message::text(frames.to_string())).await.unwrap();
            for _ in 0..frames {
                assert_eq!(socket.next().await.unwrap().unwrap().len(), FRAME_BYTES);
            }
            socket
        });
        self.socket = Some(socket);
    }
}

impl Drop for RawStream {
    fn drop(&mut self) {
        process::terminate(&mut self.sender);
    }
}

/// The sending process: sends as many frames as each message asks for, in the same kind of runtime as a runner.
pub(crate) fn send_frames(url: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut config = WebSocketConfig::default();
        config.read_buffer_size = RUNNER_BUFFER_BYTES;
        config.write_buffer_size = RUNNER_BUFFER_BYTES;
        let stream = TcpStream::connect(url.trim_start_matches("ws://")).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let (mut socket, _) =
            tokio_tungstenite::client_async_with_config(url, stream, Some(config)).await.unwrap();
        let frame = Bytes::from(vec![7; FRAME_BYTES]);
        while let Some(Ok(Message::Text(frames))) = socket.next().await {
            for _ in 0..frames.parse::<u64>().unwrap() {
                socket.feed(Message::Binary(frame.clone())).await.unwrap();
            }
            socket.flush().await.unwrap();
        }
    });
}
