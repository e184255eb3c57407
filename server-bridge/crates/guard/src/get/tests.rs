use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A server that answers every request with these bytes, and keeps the connection open if `stays_open`.
async fn serves(answer: &'static str, stays_open: bool) -> u16 {
    // Another test may have installed it first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut head = [0; 4096];
            let read = socket.read(&mut head).await;
            // The client may have disconnected.
            let _ = socket.write_all(answer.as_bytes()).await;
            if stays_open && read.is_ok() {
                open.push(socket);
            }
        }
    });
    port
}

async fn get(allowed: &[&str], url: &str) -> Result<Answer, Error> {
    let allowed: Vec<String> = allowed.iter().map(|host| (*host).to_owned()).collect();
    let getter = Getter::new(Reach::public(&allowed)).with_patience(Duration::from_millis(500));
    getter.get(Url::parse(url).unwrap()).await
}

#[tokio::test]
async fn only_what_was_allowed_by_that_very_name_is_reached_inside() {
    let port = serves("HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nhi", false).await;
    let (name, number) = (format!("http://LOCALHOST:{port}/"), format!("http://127.0.0.1:{port}/"));
    assert_eq!(get(&["Localhost"], &name).await.unwrap().content, "hi");
    assert_eq!(get(&["127.0.0.1"], &number).await.unwrap().content, "hi");
    for (allowed, url) in
        [(&[][..], &name), (&[], &number), (&["127.0.0.1"], &name), (&["localhost"], &number)]
    {
        assert!(matches!(get(allowed, url).await, Err(Error::Private(_))), "{allowed:?} {url}");
    }
}

#[tokio::test]
async fn what_does_not_come_in_time_or_packed_is_told() {
    let silent = serves("", true).await;
    assert!(matches!(get(&["127.0.0.1"], &format!("http://127.0.0.1:{silent}/")).await, Err(Error::Timeout)));
    let slow = serves("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbeginning", true).await;
    assert!(matches!(get(&["127.0.0.1"], &format!("http://127.0.0.1:{slow}/")).await, Err(Error::Timeout)));
    let cut = serves("HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nbeginning", false).await;
    assert!(matches!(get(&["127.0.0.1"], &format!("http://127.0.0.1:{cut}/")).await, Err(Error::Network(_))));
    let packed =
        "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 2\r\nconnection: close\r\n\r\n\u{1f}x";
    let packed = serves(packed, false).await;
    let refused = get(&["127.0.0.1"], &format!("http://127.0.0.1:{packed}/")).await.unwrap_err();
    assert!(refused.to_string().contains("gzip"), "{refused}");
    let nonsense = serves("SSH-2.0-OpenSSH_9.9\r\n", false).await;
    assert!(matches!(
        get(&["127.0.0.1"], &format!("http://127.0.0.1:{nonsense}/")).await,
        Err(Error::Network(_))
    ));
}
