use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};

use super::*;
use crate::limits::MCP_ASK_BYTES;

/// The other end of a connection: a server that a test speaks for.
struct Server {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
}

impl Server {
    async fn say(&mut self, message: Value) -> bool {
        self.out.write_all(format!("{message}\n").as_bytes()).await.is_ok()
    }

    /// The next message with this method.
    async fn hear(&mut self, method: &str) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the client is there");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"] == method {
                return message;
            }
        }
    }

    /// The reason why a request of the server was refused; nothing else is answered before.
    async fn refusal(&mut self, id: u64) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the client is there");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"].is_null() {
                assert_eq!(message["id"], id, "{message}");
                return message["error"]["message"].as_str().expect("it is refused").to_owned();
            }
        }
    }

    async fn answer(&mut self, message: &Value, result: Value) {
        assert!(self.say(json!({"jsonrpc": "2.0", "id": message["id"], "result": result})).await);
    }
}

/// A server's response to `server/discover`.
fn discovered() -> Value {
    json!({"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"})
}

/// The response to `initialize` of a server of the older era.
fn initialized() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}})
}

/// Connects to a server of an unknown era that reads nothing before `initialize` was sent.
async fn connect_late(speak: impl AsyncFnOnce(&mut Server, Value, Value)) -> Result<Connection, Refused> {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (theirs_in, out) = split(theirs);
    let mut server = Server { lines: BufReader::new(theirs_in).lines(), out };
    let spoken = async {
        let discover = server.hear("server/discover").await;
        let initialize = server.hear("initialize").await;
        speak(&mut server, discover, initialize).await;
        server
    };
    let made = connect(split(ours), Era::Unknown, None, ProgramStatus::default());
    let (made, _server) = tokio::join!(made, spoken);
    made
}

#[tokio::test(start_paused = true)]
async fn a_program_that_starts_slowly_may_answer_the_discovery_late() {
    let newer = connect_late(async |server, discover, initialize| {
        server.answer(&discover, discovered()).await;
        server.answer(&initialize, initialized()).await;
    });
    assert_eq!(newer.await.unwrap().era(), Era::Initialize);
    let older = connect_late(async |server, discover, initialize| {
        let unknown = json!({"code": -32601, "message": "Method not found"});
        assert!(server.say(json!({"jsonrpc": "2.0", "id": discover["id"], "error": unknown})).await);
        server.answer(&initialize, initialized()).await;
    });
    assert_eq!(older.await.unwrap().era(), Era::Initialize);
    // A server that only knows the newer era is started again in that era.
    let newest = connect_late(async |server, discover, initialize| {
        server.answer(&discover, discovered()).await;
        let unknown = json!({"code": -32601, "message": "Method not found"});
        assert!(server.say(json!({"jsonrpc": "2.0", "id": initialize["id"], "error": unknown})).await);
    });
    assert_eq!(newest.await.err().unwrap().may_speak, Some(Era::Discover));
}

/// A connection to a server of the older era.
async fn connected() -> (Arc<Connection>, Server) {
    connected_in(Era::Initialize).await
}

/// A connection to a server of an era.
async fn connected_in(era: Era) -> (Arc<Connection>, Server) {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (theirs_in, out) = split(theirs);
    let mut server = Server { lines: BufReader::new(theirs_in).lines(), out };
    let with_resources = |mut info: Value| {
        info["capabilities"]["resources"] = json!({"subscribe": true});
        info
    };
    let began = async {
        if era == Era::Discover {
            let begun = server.hear("server/discover").await;
            return server.answer(&begun, with_resources(discovered())).await;
        }
        let begun = server.hear("initialize").await;
        server.answer(&begun, with_resources(initialized())).await;
        server.hear("notifications/initialized").await;
    };
    let root = Some("file:///work".to_owned());
    let connection = connect(split(ours), era, root, ProgramStatus::default());
    let (connection, ()) = tokio::join!(connection, began);
    (Arc::new(connection.unwrap()), server)
}

fn call(
    connection: &Arc<Connection>,
    patience: Duration,
) -> tokio::task::JoinHandle<Result<CallToolResult, String>> {
    let connection = Arc::clone(connection);
    tokio::spawn(async move {
        let mut listener = Waits;
        connection.call("work", Map::new(), patience, Some(&mut listener)).await
    })
}

/// A user who answers no question.
struct Waits;

impl Listener for Waits {
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Event::Asks(..) = event {
                std::future::pending::<()>().await;
            }
        })
    }
}

const PATIENCE: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_is_cancelled_and_the_next_gets_another_connection() {
    let (connection, mut server) = connected().await;
    assert!(!connection.is_over());
    let called = call(&connection, PATIENCE);
    server.hear("tools/call").await;
    assert_eq!(connection.idle(), None);
    server.hear("notifications/cancelled").await;
    assert!(called.await.unwrap().unwrap_err().contains("for 5 s"));
    assert!(connection.is_over() && connection.idle().is_some());
}

#[tokio::test(start_paused = true)]
async fn progress_prolongs_a_call_and_not_without_end() {
    let (connection, mut server) = connected().await;
    let begun = Instant::now();
    let called = call(&connection, PATIENCE);
    let message = server.hear("tools/call").await;
    let token = message["params"]["_meta"]["progressToken"].clone();
    while !called.is_finished() {
        let params = json!({"progressToken": token, "progress": 1});
        server.say(json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})).await;
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    assert!(called.await.unwrap().is_err());
    let took = begun.elapsed();
    assert!(took >= MCP_CALL_TOTAL && took < MCP_CALL_TOTAL + Duration::from_secs(10), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_its_user_and_ends_with_its_call() {
    let (connection, mut server) = connected().await;
    let called = call(&connection, PATIENCE);
    let message = server.hear("tools/call").await;
    let schema = json!({"type": "object", "properties": {}});
    let asks = json!({"message": "Who?", "requestedSchema": schema});
    server.say(json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": asks})).await;
    // Longer than a call may be silent.
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(!called.is_finished());
    server.answer(&message, json!({"content": [{"type": "text", "text": "done"}]})).await;
    assert!(called.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_requests_ends_the_connection() {
    let (connection, mut server) = connected().await;
    let called = call(&connection, PATIENCE);
    server.hear("tools/call").await;
    // It reads none of the answers.
    let mut id = 0;
    while !called.is_finished() && id < 100_000 {
        id += 1;
        if !server.say(json!({"jsonrpc": "2.0", "id": id, "method": "roots/list"})).await {
            break;
        }
    }
    assert!(called.await.unwrap().is_err());
    assert!(connection.is_over());
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_is_small_and_little_of_it_waits() {
    let ask = |id: u64, method: &str, text: &str| {
        let params = match method {
            "elicitation/create" => {
                json!({"message": text, "requestedSchema": {"type": "object", "properties": {}}})
            }
            _ => {
                json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 9})
            }
        };
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
    };
    let (elicit, sample) = ("elicitation/create", "sampling/createMessage");
    let (connection, mut server) = connected().await;
    let called = call(&connection, PATIENCE);
    let message = server.hear("tools/call").await;
    let large = "x".repeat(MCP_ASK_BYTES);
    for (id, method) in [(1, elicit), (2, sample)] {
        server.say(ask(id, method, &large)).await;
        assert!(server.refusal(id).await.contains(&MCP_ASK_BYTES.to_string()), "{method}");
    }
    let fits = &large[..MCP_ASK_BYTES - 1024];
    let most = 3 + MCP_ASKS_WAITING as u64;
    for id in 3..most {
        server.say(ask(id, elicit, fits)).await;
    }
    for (id, method) in [(most, elicit), (most + 1, sample)] {
        server.say(ask(id, method, "Who?")).await;
        assert!(server.refusal(id).await.contains("ask again"), "{method}");
    }
    // Those that wait end with their call, and others may be asked.
    server.answer(&message, json!({"content": []})).await;
    assert!(called.await.unwrap().is_ok());
    while connection.service.service().asking.available_permits() < MCP_ASKS_WAITING {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn watching_that_a_server_never_begins_ends_and_leaves_nothing_watched() {
    let uri = "a://b";
    for (era, method) in [(Era::Initialize, "resources/subscribe"), (Era::Discover, "subscriptions/listen")] {
        let (connection, mut server) = connected_in(era).await;
        assert_eq!(connection.era(), era);
        let watching = async { tokio::join!(connection.watch(uri, PATIENCE), server.hear(method)).0 };
        assert!(watching.await.unwrap_err().contains("for 5 s"));
        assert!(!connection.watched.has(uri) && connection.is_over());

        // A call that is cancelled meanwhile leaves nothing either.
        let (connection, mut server) = connected_in(era).await;
        tokio::select! {
            _ = connection.watch(uri, PATIENCE) => unreachable!("it is not answered"),
            is_watched = async { server.hear(method).await; connection.watched.has(uri) } => assert!(is_watched),
        }
        assert!(!connection.watched.has(uri));
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_list_of_tools_is_refused() {
    let (connection, mut server) = connected().await;
    let endless = tokio::spawn(async move {
        loop {
            let asked = server.hear("tools/list").await;
            let tool = json!({"name": format!("t{}", asked["id"]), "inputSchema": {"type": "object"}});
            server.answer(&asked, json!({"tools": [tool], "nextCursor": "more"})).await;
        }
    });
    assert!(connection.tools().await.unwrap_err().contains("pages"));
    endless.abort();
}
