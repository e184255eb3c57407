use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::*;

/// A server that answers one request with these bytes, and returns the request.
async fn serves(answer: String) -> (String, tokio::task::JoinHandle<String>) {
    // Another test may have installed it first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let asked = tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !String::from_utf8_lossy(&request).ends_with("{}") {
            let mut part = [0; 4096];
            let count = socket.read(&mut part).await.unwrap();
            request.extend_from_slice(&part[..count]);
        }
        // The client may have disconnected after it read enough.
        let _ = socket.write_all(answer.as_bytes()).await;
        String::from_utf8(request).unwrap()
    });
    (url, asked)
}

async fn post(url: &str, headers: &[(String, String)], most_bytes: usize) -> Result<Posted, Error> {
    let poster = Poster::new(Reach::public(&["127.0.0.1".to_owned()]));
    poster.post(url, headers, "{}".to_owned(), Duration::from_secs(10), most_bytes).await
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_takes_no_header_along() {
    let (elsewhere, never) = serves("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n".to_owned()).await;
    let moved = format!("HTTP/1.1 307 Moved\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\n\r\n");
    let (url, asked) = serves(moved).await;
    let headers = [("x-key".to_owned(), "secret".to_owned())];
    assert_eq!(post(&url, &headers, 10).await.unwrap().status, 307);
    let asked = asked.await.unwrap();
    assert!(asked.starts_with("POST /hook") && asked.contains("x-key: secret"), "{asked}");
    assert!(!never.is_finished(), "nothing was requested there");
}

#[tokio::test]
async fn an_answer_is_read_up_to_its_limit() {
    for (body, is_cut) in [("0123456789", false), ("0123456789a", true)] {
        let length = body.len();
        let (url, _asked) =
            serves(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}")).await;
        let posted = post(&url, &[], 10).await.unwrap();
        assert_eq!((posted.status, &posted.body[..], posted.is_cut), (200, &b"0123456789"[..], is_cut));
    }
}

#[tokio::test]
async fn what_leads_inside_is_refused_and_so_are_headers_that_are_none() {
    for url in ["http://10.0.0.1/", "http://localhost/", "http://169.254.169.254/", "http://[::1]/"] {
        assert!(matches!(post(url, &[], 10).await, Err(Error::Private(_))), "{url}");
    }
    for (name, value) in [("a b", "x"), ("a", "x\r\nb: y")] {
        let headers = [(name.to_owned(), value.to_owned())];
        assert!(matches!(post("http://127.0.0.1:1/", &headers, 10).await, Err(Error::Url(_))), "{name}");
    }
}
