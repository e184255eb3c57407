//! Pulls against a scripted engine on a Unix socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Notify;

use super::*;
use crate::DockerConfig;
use crate::backends::docker::names::Names;

/// The deadline for each wait in these tests.
const DEADLINE: Duration = Duration::from_secs(20);
const IMAGE: &str = "tools:1";

/// An engine without the image, whose registry reports `last` at the end of a pull.
struct ScriptedEngine {
    has_image: AtomicBool,
    /// Lets a pull end.
    may_end: Notify,
    last: &'static str,
}

impl ScriptedEngine {
    /// Starts the engine; returns it with its configuration and the directory of its socket.
    fn start(last: &'static str) -> (Arc<Self>, DockerConfig, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let socket = directory.path().join("docker.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let engine = Arc::new(Self { has_image: AtomicBool::new(false), may_end: Notify::new(), last });
        let serving = Arc::clone(&engine);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&serving).serve(stream));
            }
        });
        let socket = Some(socket.to_string_lossy().into_owned());
        (engine, DockerConfig { socket, image: IMAGE.to_owned(), ..DockerConfig::default() }, directory)
    }

    async fn serve(self: Arc<Self>, mut stream: UnixStream) {
        let mut read = Vec::new();
        loop {
            while !read.ends_with(b"\r\n\r\n") {
                let Ok(byte) = stream.read_u8().await else { return };
                read.push(byte);
            }
            let head = String::from_utf8(std::mem::take(&mut read)).unwrap();
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let answer = if path.contains("/images/create") {
                self.pull(&mut stream, &path).await
            } else {
                let (status, body) = match () {
                    () if path.ends_with("/version") => ("200 OK", r#"{"ApiVersion":"1.44"}"#),
                    () if path.ends_with("/info") => ("200 OK", "{}"),
                    () if path.contains("/networks") => ("200 OK", "[]"),
                    () if path.contains("/images/tools") && self.has_image.load(Ordering::Relaxed) => {
                        ("200 OK", r#"{"Id":"sha256:abab"}"#)
                    }
                    () if path.contains("/images/sha256:abab/") => ("200 OK", r#"{"Id":"sha256:abab"}"#),
                    () => ("404 Not Found", r#"{"message":"no such thing"}"#),
                };
                let length = body.len();
                let head = format!(
                    "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}"
                );
                stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await
            };
            if answer.is_err() {
                return;
            }
        }
    }

    async fn pull(&self, stream: &mut UnixStream, path: &str) -> std::io::Result<()> {
        assert!(path.contains("fromImage=tools"), "{path}");
        let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
        let begun = "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":3145728,\"total\":12582912}}\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}{}", chunk(begun)).as_bytes()).await?;
        self.may_end.notified().await;
        self.has_image.store(!self.last.contains("error"), Ordering::Relaxed);
        stream.write_all(format!("{}0\r\n\r\n", chunk(self.last)).as_bytes()).await
    }
}

/// The result of looking for the image, once it contains these words.
async fn looked(engine: &Engine, words: &str) -> String {
    let names = Names::new(&engine.facts.owner, "u1");
    let look = async {
        loop {
            if let Err(error) = engine.look_for_image(&names, IMAGE).await
                && error.to_string().contains(words)
            {
                return error.to_string();
            }
        }
    };
    timeout(DEADLINE, look).await.unwrap_or_else(|_| panic!("nothing contains {words:?}"))
}

#[tokio::test]
async fn an_absent_image_is_pulled_at_the_first_use_and_a_look_tells_how_far_it_is() {
    let (scripted, config, _directory) =
        ScriptedEngine::start("{\"status\":\"Pull complete\",\"id\":\"a\"}\n");
    let engine = Engine::connect(&config).await.unwrap();
    looked(&engine, "is not on this machine yet").await;
    let (pinned, ()) = tokio::join!(engine.pinned(IMAGE), async {
        looked(&engine, "3 of 12 MiB").await;
        scripted.may_end.notify_one();
    });
    assert_eq!(pinned.unwrap().id, "sha256:abab");
    let names = Names::new(&engine.facts.owner, "u1");
    assert!(engine.look_for_image(&names, IMAGE).await.is_ok());
}

#[tokio::test]
async fn a_pull_that_fails_says_why_and_what_to_do_and_is_tried_again() {
    let last = "{\"errorDetail\":{\"message\":\"dial tcp: no route to host\"},\"error\":\"dial tcp: no route to host\"}\n";
    let (scripted, config, _directory) = ScriptedEngine::start(last);
    let engine = Engine::connect(&config).await.unwrap();
    for _ in 0..2 {
        scripted.may_end.notify_one();
        let error = engine.pinned(IMAGE).await.unwrap_err().to_string();
        for words in ["cannot be pulled", "no route to host", "docker pull tools:1", "--docker-image"] {
            assert!(error.contains(words), "{error}");
        }
        assert_eq!(engine.pulling.progress(), None);
    }
}

#[test]
fn an_image_without_a_tag_means_the_latest_alone() {
    for (name, pulled) in [
        ("debian", "debian:latest"),
        ("debian:12", "debian:12"),
        ("localhost:5000/team/tools", "localhost:5000/team/tools:latest"),
        ("debian@sha256:1", "debian@sha256:1"),
    ] {
        assert_eq!(with_tag(name), pulled);
    }
}
