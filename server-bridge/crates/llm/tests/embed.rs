//! Embedders over real connections to a scripted provider, and the built-in one with its weights.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use llm::embed::{BUILT_IN_MODEL, Embedder, Error, Protocol};
use llm::http::{Connections, Http, KeyHeader, Reach};
use llm::retry::Patience;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// A provider that answers each connection with the next of these, and then closes it.
struct Scripted {
    address: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Scripted {
    async fn start(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            for answer in answers {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"}") {
                    assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0);
                }
                seen.lock().unwrap().push(String::from_utf8(request).unwrap());
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { address, requests }
    }

    fn embedder(&self, protocol: Protocol, dimensions: Option<usize>) -> Embedder {
        // Another test of this process may have installed it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let key = Some((KeyHeader::Bearer, "sk-key"));
        let http = Http::new(&Connections::default(), Reach::Anywhere, &self.address, key).unwrap();
        let patience = Patience { pause: Duration::from_millis(1), ..Patience::default() };
        Embedder::remote(protocol, http, "p", "m", dimensions).with_patience(patience)
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
}

fn ollama(vectors: &str) -> String {
    answer("200 OK", &format!(r#"{{"model":"m","embeddings":[{vectors}]}}"#))
}

fn texts(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("text {at}")).collect()
}

#[tokio::test]
async fn vectors_of_a_provider_are_asked_for_in_batches_and_after_a_failure_again() {
    let of = |count: usize| {
        let data: Vec<String> =
            (0..count).rev().map(|at| format!(r#"{{"index":{at},"embedding":[{at},1]}}"#)).collect();
        answer("200 OK", &format!(r#"{{"object":"list","data":[{}]}}"#, data.join(",")))
    };
    let busy = answer("503 Service Unavailable", "busy");
    let provider = Scripted::start(vec![of(64), busy, of(6)]).await;
    let embedder = provider.embedder(Protocol::OpenAi, None);
    let vectors = embedder.passages(texts(70)).await.unwrap();
    assert_eq!((vectors.len(), vectors[0].bytes(), vectors[64].bytes()), (70, vec![0, 127], vec![0, 127]));
    assert_eq!(vectors[1].bytes(), [127, 127]);
    assert_eq!(embedder.model(), "openai/m@p");
    let requests = provider.requests.lock().unwrap();
    assert!(
        requests[0].starts_with("POST /v1/embeddings HTTP/1.1")
            && requests[0].contains("authorization: Bearer sk-key")
    );
    assert!(requests[1] == requests[2] && requests[2].contains("text 69"));
}

#[tokio::test]
async fn an_answer_that_is_none_is_a_typed_error() {
    let dimension = |expected, found| Error::Vector(search::vectors::Error::Dimension { expected, found });
    let cases = [
        ("[1,2],[3,4]", 1, Error::Count { expected: 1, found: 2 }),
        ("", 1, Error::Count { expected: 1, found: 0 }),
        ("[1,2],[3,4,5]", 2, dimension(2, 3)),
        ("[1,2,3]", 1, dimension(2, 3)),
        ("[1,null]", 1, Error::Vector(search::vectors::Error::NoNumber)),
        ("[1,1e39]", 1, Error::Vector(search::vectors::Error::NoNumber)),
        ("[0,0]", 1, Error::Vector(search::vectors::Error::Zero)),
        ("[]", 1, Error::Vector(search::vectors::Error::Size(0))),
    ];
    for (vectors, count, expected) in cases {
        let provider = Scripted::start(vec![ollama(vectors)]).await;
        let error = provider.embedder(Protocol::Ollama, Some(2)).passages(texts(count)).await.unwrap_err();
        assert_eq!(error, expected, "{vectors}");
        assert!(!error.is_passing());
    }
}

#[tokio::test]
async fn a_provider_that_cannot_be_used_is_told_after_as_many_attempts_as_are_worth_it() {
    let cases = [
        (answer("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#), "key", 1),
        (
            answer("404 Not Found", r#"{"error":"model \"m\" not found, try pulling it first"}"#),
            "unknown_model",
            1,
        ),
        (answer("200 OK", "<html>a captive portal</html>"), "nonsense", 1),
        (answer("500 Internal Server Error", r#"{"error":"out of memory"}"#), "provider", 5),
        ("HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n{".to_owned(), "network", 5),
    ];
    for (answer, kind, attempts) in cases {
        let provider = Scripted::start(vec![answer; attempts]).await;
        let error = provider.embedder(Protocol::Ollama, None).query("text").await.unwrap_err();
        assert_eq!((error.kind(), provider.requests.lock().unwrap().len()), (kind, attempts), "{error}");
    }
    let gone = Scripted { address: "http://127.0.0.1:1".to_owned(), requests: Arc::default() };
    let error = gone.embedder(Protocol::OpenAi, None).query("text").await.unwrap_err();
    assert!(error.kind() == "network" && error.is_passing(), "{error}");
}

/// A rate limit's pause lasts seconds, so the clock is paused in tests without real connections.
struct Limited(Mutex<Vec<u16>>);

impl llm::transport::Transport for Limited {
    fn send(
        &self,
        _: llm::transport::Call,
    ) -> futures_util::future::BoxFuture<'_, Result<llm::transport::Answer, llm::Error>> {
        let status = self.0.lock().unwrap().remove(0);
        let body = if status == 200 { r#"{"embeddings":[[1,2]]}"# } else { "slow down" };
        let body = Box::pin(futures_util::stream::iter([Ok(bytes::Bytes::from_static(body.as_bytes()))]));
        Box::pin(async move { Ok(llm::transport::Answer { status, retry_after_s: Some(7), body }) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_is_waited_for() {
    let begun = tokio::time::Instant::now();
    let embedder =
        Embedder::remote(Protocol::Ollama, Limited(Mutex::new(vec![429, 429, 200])), "p", "m", None);
    assert_eq!(embedder.query("text").await.unwrap().dimensions(), 2);
    assert!((14..20).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn the_built_in_embedder_needs_its_file_and_reads_it_once_it_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weights.bin");
    let embedder = Embedder::built_in(&file);
    assert_eq!(embedder.model(), BUILT_IN_MODEL);
    let error = embedder.query("text").await.unwrap_err();
    assert!(matches!(&error, Error::Absent(path) if path.ends_with("weights.bin")), "{error}");
    std::fs::write(&file, "E5S1 and no more").unwrap();
    assert!(matches!(embedder.query("text").await, Err(Error::Unusable(_))));
    std::fs::copy(weights(), &file).unwrap();
    let query = embedder.query("How do I merge cells?").await.unwrap();
    let passages = vec!["Select the cells, then choose Merge.".to_owned(), "Whales are mammals.".to_owned()];
    let passages = embedder.passages(passages).await.unwrap();
    assert!(query.cosine(&passages[0]).unwrap() > query.cosine(&passages[1]).unwrap());
}

/// The weights in the cache that `scripts/test` fills; see `e5/tests/reference.rs`.
fn weights() -> PathBuf {
    if let Some(file) = std::env::var_os("SANDBRIDGE_E5_WEIGHTS") {
        return file.into();
    }
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"), PathBuf::from);
    let pin = include_str!("../../e5/weights.txt").lines().find(|line| !line.starts_with('#')).unwrap();
    let [_package, version, _file, hash] = pin.split(' ').collect::<Vec<_>>()[..] else { panic!("{pin}") };
    cache.join(format!("sandbridge-tests/e5-small-q4-{version}-{}.bin", &hash[..16]))
}
