//! Whole calls: over real connections to a scripted provider, and with a paused clock if time matters.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use llm::http::{Connections, Http, KeyHeader, Reach};
use llm::openai::OpenAi;
use llm::retry::Patience;
use llm::slots::{Kind, Seat, Slots};
use llm::transport::{Answer, Call, Transport};
use llm::{Content, Delta, Draft, Error, Message, Model, Progress, Reply, Request, Stop, call};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

fn request() -> Request {
    Request {
        model: "m".to_owned(),
        tools: Vec::new(),
        system: Vec::new(),
        messages: vec![Message::user("hello").into()],
        reminder: None,
        max_tokens: 100,
        thinking_tokens: None,
    }
}

fn seat() -> Seat {
    Slots::default().seat("alice", Kind::Shared)
}

fn hasty() -> Patience {
    Patience { pause: Duration::from_millis(1), ..Patience::default() }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const END: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

fn said(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}

/// A provider that answers each connection with the next of these, byte for byte, and then closes it.
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
                // The body ends with its outermost brace, since it has no braces in strings here; a GET has none.
                let is_whole = |request: &[u8]| {
                    request.ends_with(b"}]}")
                        || (request.starts_with(b"GET") && request.ends_with(b"\r\n\r\n"))
                };
                while !is_whole(&request) {
                    assert_ne!(socket.read_buf(&mut request).await.unwrap(), 0);
                }
                seen.lock().unwrap().push(String::from_utf8(request).unwrap());
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { address, requests }
    }

    fn model(&self) -> Model {
        // Another test of this process may have installed it first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = Http::new(
            &Connections::default(),
            Reach::Anywhere,
            &self.address,
            Some((KeyHeader::Bearer, "sk-key")),
        );
        Model::new(OpenAi, http.unwrap())
    }

    async fn call(&self) -> (Result<Reply, Error>, Vec<String>) {
        let mut told = Vec::new();
        let reply =
            call(
                &self.model(),
                &request(),
                &mut Draft::default(),
                hasty(),
                &seat(),
                |progress| match progress {
                    Progress::Delta(Delta::Text(text)) => told.push(text.clone()),
                    Progress::Delta(_) => {}
                    Progress::Retrying { attempt, attempts, error, .. } => {
                        told.push(format!("{} {attempt}/{attempts}", error.kind()));
                    }
                },
            )
            .await;
        (reply, told)
    }
}

#[tokio::test]
async fn what_passes_is_tried_again_and_told() {
    let provider = Scripted::start(vec![
        "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 4\r\n\r\nbusy".to_owned(),
        format!("{OK}{}", said("half an an")),
        "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\ndata: {".to_owned(),
        format!("{OK}{END}"),
        format!("{OK}{}{}{END}", said("who"), said("le")),
    ])
    .await;
    let (reply, told) = provider.call().await;
    assert_eq!(reply.unwrap().message.text, "whole", "and nothing of what was void");
    let expected = ["provider 2/5", "half an an", "interrupted 3/5", "network 4/5", "empty 5/5", "who", "le"];
    assert_eq!(told, expected);
    let requests = provider.requests.lock().unwrap();
    assert!(requests.windows(2).all(|pair| pair[0] == pair[1]), "the same bytes each time");
    assert!(requests[0].contains("authorization: Bearer sk-key"), "{}", requests[0]);
    assert!(requests[0].starts_with("POST /v1/chat/completions HTTP/1.1"), "{}", requests[0]);
}

#[tokio::test]
async fn what_does_not_pass_is_told_at_once() {
    let answer = |status: &str, body: &str| {
        format!(
            "HTTP/1.1 {status}\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let cases = [
        (answer("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#), "key"),
        (answer("404 Not Found", r#"{"error":{"message":"no model m"}}"#), "unknown_model"),
        (answer("400 Bad Request", r#"{"error":{"code":"context_length_exceeded"}}"#), "input_too_long"),
        (answer("302 Found", ""), "refused"),
        (format!("{OK}<html>a captive portal</html>\n\n"), "interrupted"),
        (format!("{OK}data: <html>\n\n"), "nonsense"),
    ];
    for (answer, kind) in cases {
        let passes = kind == "interrupted";
        let provider = Scripted::start(vec![answer; if passes { 5 } else { 1 }]).await;
        let (reply, told) = provider.call().await;
        assert_eq!(reply.unwrap_err().kind(), kind);
        assert_eq!(told.len(), if passes { 4 } else { 0 }, "{kind}");
    }
}

#[tokio::test]
async fn a_provider_that_is_not_there_is_told() {
    let gone = Scripted { address: "http://127.0.0.1:1".to_owned(), requests: Arc::default() };
    let (reply, told) = gone.call().await;
    let error = reply.unwrap_err();
    assert_eq!((error.kind(), told.len()), ("network", 4));
    assert!(error.to_string().to_lowercase().contains("refused"), "{error}");
}

#[tokio::test]
async fn an_answer_without_an_end_in_size_is_refused() {
    let flood = said(&"x".repeat(1024 * 1024)).repeat(33);
    let provider = Scripted::start(vec![format!("{OK}{flood}")]).await;
    let model = provider.model();
    assert_eq!(model.ask(&request(), &mut Draft::default(), |_| {}).await.unwrap_err().kind(), "nonsense");
}

#[tokio::test]
async fn arguments_of_10_mb_arrive() {
    let arguments = format!("{{\\\"content\\\":\\\"{}\\\"}}", "x".repeat(10_000_000));
    let delta = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":[{{\"index\":0,\"id\":\"a\",\"function\":{{\"name\":\"FileCreate\",\"arguments\":\"{arguments}\"}}}}]}}}}]}}\n\n"
    );
    let provider = Scripted::start(vec![format!("{OK}{delta}{END}")]).await;
    let reply = provider.model().ask(&request(), &mut Draft::default(), |_| {}).await.unwrap();
    let content = reply.message.tool_calls[0].parse().unwrap()["content"].as_str().unwrap().len();
    assert_eq!((content, reply.stop), (10_000_000, Stop::ToolCalls));
}

/// A provider with a clock: pieces, each with its duration.
#[derive(Clone)]
struct Slow {
    head: Duration,
    pieces: Vec<(Duration, String)>,
    has_no_end: bool,
}

impl Transport for Slow {
    fn send(&self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
        let Self { head, pieces, has_no_end } = self.clone();
        async move {
            tokio::time::sleep(head).await;
            let count = if has_no_end { usize::MAX } else { pieces.len() };
            let pieces =
                stream::iter(pieces.into_iter().cycle().take(count)).then(|(pause, piece)| async move {
                    tokio::time::sleep(pause).await;
                    Ok(Bytes::from(piece))
                });
            Ok(Answer { status: 200, retry_after_s: None, body: pieces.boxed() })
        }
        .boxed()
    }
}

async fn ask_slow(head_s: u64, pieces: &[(u64, String)], has_no_end: bool) -> (Result<Reply, Error>, u64) {
    let pieces =
        pieces.iter().map(|(pause_s, piece)| (Duration::from_secs(*pause_s), piece.clone())).collect();
    let slow = Slow { head: Duration::from_secs(head_s), pieces, has_no_end };
    let began = tokio::time::Instant::now();
    let reply = Model::new(OpenAi, slow).ask(&request(), &mut Draft::default(), |_| {}).await;
    (reply, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_after_120_s_without_a_sign_of_life() {
    let whole = [(119, said("x")), (119, END.to_owned())];
    assert!(ask_slow(119, &whole, false).await.0.is_ok());
    assert_eq!(
        ask_slow(121, &whole, false).await,
        (Err(Error::Timeout("nothing arrived for 120 s".to_owned())), 120)
    );
    let (reply, after_s) = ask_slow(1, &[(121, said("x"))], false).await;
    assert_eq!((reply.unwrap_err().kind(), after_s), ("timeout", 121));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_never_ends_ends_after_600_s() {
    let (reply, after_s) = ask_slow(0, &[(7, said("x"))], true).await;
    assert_eq!((reply, after_s), (Err(Error::Timeout("no end after 600 s".to_owned())), 600));
}

#[tokio::test(start_paused = true)]
async fn a_call_in_its_pause_holds_no_slot() {
    struct Down;
    impl Transport for Down {
        fn send(&self, _: Call) -> BoxFuture<'_, Result<Answer, Error>> {
            async { Err(Error::Network("down".to_owned())) }.boxed()
        }
    }
    let seat = Slots::default().seat("alice", Kind::Personal);
    let down = Model::new(OpenAi, Down);
    let request = request();
    let calls = (0..100).map(|_| async {
        call(&down, &request, &mut Draft::default(), Patience::default(), &seat, |_| {}).await
    });
    let began = tokio::time::Instant::now();
    let replies = futures_util::future::join_all(calls).await;
    assert!(replies.iter().all(Result::is_err));
    assert!(began.elapsed() <= Duration::from_secs(15), "1, 2, 4 and 8 s of pauses, all at once");
}

#[tokio::test]
async fn a_model_that_sees_nothing_is_asked_again_without_the_images() {
    let refusal = |text: &str| {
        let body = format!("{{\"error\":{{\"message\":\"{text}\"}}}}");
        format!("HTTP/1.1 400 Bad\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    let provider = Scripted::start(vec![
        refusal("no images"),
        format!("{OK}{}{END}", said("hi")),
        refusal("no images"),
        refusal("nor this"),
    ])
    .await;
    let model = provider.model();
    let image = Content::Image { media_type: "image/png".to_owned(), data: Bytes::from_static(&[1]) };
    let request = Request { messages: vec![Message::User(vec!["look".into(), image]).into()], ..request() };
    let mut told = Vec::new();
    let mut ask = async || {
        call(&model, &request, &mut Draft::default(), hasty(), &seat(), |news| told.push(news.to_string()))
            .await
    };
    assert_eq!(ask().await.unwrap().message.text, "hi");
    assert!(matches!(ask().await, Err(Error::Refused(why)) if why.contains("nor this")));
    assert!(told[0].contains("asking without the images"), "{told:?}");
    let requests = provider.requests.lock().unwrap();
    let has_image: Vec<bool> = requests.iter().map(|request| request.contains("image_url")).collect();
    assert_eq!(has_image, [true, false, true, false]);
}

#[tokio::test]
async fn models_are_listed_with_the_key_and_a_provider_without_a_list_has_none() {
    let answer = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
    };
    let provider = Scripted::start(vec![
        answer("200 OK", r#"{"data":[{"id":"a"},{"id":"b"}]}"#),
        answer("404 Not Found", "<html>"),
        answer("401 Unauthorized", r#"{"error":{"message":"bad key"}}"#),
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{".to_owned(),
    ])
    .await;
    let model = provider.model();
    assert_eq!(model.list().await.unwrap().unwrap(), ["a", "b"]);
    assert_eq!(model.list().await, Ok(None));
    assert!(matches!(model.list().await, Err(Error::Key(why)) if why.contains("bad key")));
    assert_eq!(model.list().await.unwrap_err().kind(), "network");
    let requests = provider.requests.lock().unwrap();
    assert!(requests[0].starts_with("GET /v1/models HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].contains("authorization: Bearer sk-key"), "{}", requests[0]);
    assert!(!requests[0].contains("content-"), "{}", requests[0]);
}
