//! Browsers, and other clients that may connect to the port.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

const PROVIDER: &str = "https://id.example/authorize?state=s";

/// A connection that sent a request.
async fn sent(listener: &Listener, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listener.port)).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn get(listener: &Listener, target: &str) -> TcpStream {
    sent(listener, &format!("GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")).await
}

/// The whole response; the server closes the connection after it.
async fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

async fn listening() -> (Listener, Arc<Expected>) {
    let listener = Listener::bind(None).await.unwrap();
    let expected = Arc::new(Expected::new(&listener.address(), PROVIDER));
    (listener, expected)
}

#[tokio::test]
async fn the_browser_has_its_page_once_the_login_has_ended() {
    for (page, line, words) in [
        (Page::LoggedIn, "HTTP/1.1 200 OK\r\n", "You are logged in."),
        (Page::Failed, "HTTP/1.1 400 Bad Request\r\n", "The login failed"),
    ] {
        let (listener, expected) = listening().await;
        // A connection that a browser opens in advance does not delay the others.
        let _idle = sent(&listener, "").await;
        let first = get(&listener, "/callback?code=c&state=s").await;
        let (found, browser) = listener.returned(&expected).await;
        assert_eq!(found.url, format!("{}?code=c&state=s", listener.address()));
        let (read, ()) = tokio::join!(answer(first), browser.show(page));
        assert!(read.starts_with(line) && read.contains(words), "{read}");
        assert!(read.contains("cache-control: no-store\r\n") && !read.contains("code=c"), "{read}");
    }
}

#[tokio::test]
async fn all_else_is_refused_and_the_wait_goes_on() {
    let (listener, expected) = listening().await;
    let long = "x".repeat(MCP_LOGIN_TEXT_BYTES);
    let refused = async {
        for (request, status) in [
            ("GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "404"),
            ("GET /favicon.ico?code=c&state=s HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "404"),
            (
                "POST /callback?code=c&state=s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".to_owned(),
                "404",
            ),
            ("GET /callback HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "400"),
            ("GET /callback?code=c&state=other HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(), "400"),
            (format!("GET /callback?state=s&code={long} HTTP/1.1\r\nHost: x\r\n\r\n"), "414"),
            ("\u{1}\u{2}\r\n\r\n".to_owned(), "400"),
        ] {
            let mut stream = sent(&listener, &request).await;
            let mut read = [0; 12];
            stream.read_exact(&mut read).await.unwrap();
            assert_eq!(String::from_utf8_lossy(&read), format!("HTTP/1.1 {status}"), "{request:.60}");
        }
        // A request without an end is cut off, perhaps before all of it was written.
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listener.port)).await.unwrap();
        let mut text = String::new();
        let _ = stream.write_all(b"GET /callback?code=c&state=s HTTP/1.1\r\nCookie: ").await;
        while stream.write_all(long.as_bytes()).await.is_ok() {}
        let _ = stream.read_to_string(&mut text).await;
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 431"), "{text}");
    };
    let mut returned = std::pin::pin!(listener.returned(&expected));
    tokio::select! {
        _ = &mut returned => panic!("none of these is an answer"),
        () = refused => {}
    }
    let stream = get(&listener, "/callback?error=access_denied&state=s").await;
    let (found, browser) = returned.await;
    assert!(found.refusal.as_deref().unwrap().contains("declined"));
    let (read, ()) = tokio::join!(answer(stream), browser.show(Page::Failed));
    assert!(read.contains("The login failed"), "{read}");
}

#[tokio::test]
async fn a_second_answer_is_too_late() {
    let (listener, expected) = listening().await;
    let first = get(&listener, "/callback?code=1&state=s").await;
    let second = get(&listener, "/callback?code=2&state=s").await;
    let (_, browser) = listener.returned(&expected).await;
    // No further connection is accepted: the first answer decides, whichever it was.
    let show = async {
        browser.show(Page::LoggedIn).await;
        drop(listener);
    };
    let quietly = |mut stream: TcpStream| async move {
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text).await;
        text
    };
    let (first, second, ()) = tokio::join!(quietly(first), quietly(second), show);
    let logged_in = [&first, &second].iter().filter(|text| text.contains("You are logged in")).count();
    assert_eq!(logged_in, 1, "{first} {second}");
}

#[tokio::test]
async fn a_port_that_is_taken_is_named() {
    let (listener, _) = listening().await;
    let failure = Listener::bind(Some(listener.port)).await.err().unwrap();
    let says = |text: &str| failure.message.contains(text);
    assert!(failure.kind == "io" && says(&listener.port.to_string()) && says("--port"), "{failure:?}");
}
