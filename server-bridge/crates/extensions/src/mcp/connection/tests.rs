use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, split};

use super::*;
use crate::limits::{MCP_ASK_BYTES, MCP_CONNECT_PATIENCE, MCP_IDLE, MCP_ROUNDS, MCP_TOOLS};
use crate::mcp::pool::{Held, Key, Pool};
use crate::mcp::{Owner, servers, tests as of_mcp};

mod pages;
mod watches;

/// The other end of a connection: a test plays the server.
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

    /// The client's answer to a request of the server; the client must not answer anything else before it.
    async fn reply(&mut self, id: u64) -> Value {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("the client is there");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["method"].is_null() {
                assert_eq!(message["id"], id, "{message}");
                return message;
            }
        }
    }

    /// The reason why a request of the server was refused.
    async fn refusal(&mut self, id: u64) -> String {
        self.reply(id).await["error"]["message"].as_str().expect("it is refused").to_owned()
    }

    /// Sends a notification that something changed.
    async fn notify(&mut self, method: &str) {
        assert!(self.say(json!({"jsonrpc": "2.0", "method": method})).await);
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
    // A server that answers only requests that it knows.
    let begun = Instant::now();
    let silent = connect_late(async |server, _, initialize| {
        server.answer(&initialize, initialized()).await;
    });
    assert_eq!(silent.await.unwrap().era(), Era::Initialize);
    assert!(begun.elapsed() < MCP_CONNECT_PATIENCE / 2, "{:?}", begun.elapsed());
    // A server that only knows the newer era is started again in that era.
    let newest = connect_late(async |server, discover, initialize| {
        server.answer(&discover, discovered()).await;
        let unknown = json!({"code": -32601, "message": "Method not found"});
        assert!(server.say(json!({"jsonrpc": "2.0", "id": initialize["id"], "error": unknown})).await);
    });
    assert_eq!(newest.await.err().unwrap().may_speak, Some(Era::Discover));
}

#[tokio::test(start_paused = true)]
async fn a_program_that_ends_when_it_is_asked_for_the_newer_era_may_speak_the_older_one() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    let (theirs_in, out) = split(theirs);
    let mut server = Server { lines: BufReader::new(theirs_in).lines(), out };
    let ends = async {
        server.hear("server/discover").await;
        drop(server);
    };
    let made = connect(split(ours), Era::Unknown, None, ProgramStatus::default());
    let (made, ()) = tokio::join!(made, ends);
    assert_eq!(made.err().unwrap().may_speak, Some(Era::Initialize));
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

/// A call by a user who answers no question.
fn call(
    connection: &Arc<Connection>,
    patience: Duration,
) -> tokio::task::JoinHandle<Result<CallToolResult, String>> {
    call_by(Waits, connection, patience)
}

fn call_by(
    mut listener: impl Listener + 'static,
    connection: &Arc<Connection>,
    patience: Duration,
) -> tokio::task::JoinHandle<Result<CallToolResult, String>> {
    let connection = Arc::clone(connection);
    tokio::spawn(async move { connection.call("work", Map::new(), patience, Some(&mut listener)).await })
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_idle_for_half_an_hour_ends_and_a_busy_one_does_not() {
    let (pool, chat) = (Pool::default(), store::ChatId::random());
    let key = |server: &str| Key {
        user: store::UserId(1),
        chat: chat.clone(),
        is_read_only: false,
        place: "laptop".to_owned(),
        server: server.to_owned(),
        hash: String::new(),
        copy: None,
        secret: None,
    };
    let ((idle, mut unused), (busy, mut used)) = (connected().await, connected().await);
    for (name, connection) in [("idle", idle), ("busy", Arc::clone(&busy))] {
        *pool.slot(&key(name), None).unwrap().held.lock().await = Held::Connection(connection);
    }
    let _call = call(&busy, 2 * MCP_IDLE);
    used.hear("tools/call").await;
    tokio::time::advance(MCP_IDLE - Duration::from_secs(1)).await;
    pool.sweep();
    assert_eq!(pool.count(), 2);
    tokio::time::advance(Duration::from_secs(2)).await;
    pool.sweep();
    let left = pool.of_chat(store::UserId(1), &chat);
    assert_eq!(left.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["busy"]);
    // The program of a connection that ended reads the end of its input.
    assert!(matches!(unused.lines.next_line().await, Ok(None) | Err(_)));
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

/// A user who accepts everything.
struct Passes;

impl Listener for Passes {
    fn on(&mut self, event: Event) -> BoxFuture<'_, ()> {
        drop(event);
        Box::pin(std::future::ready(()))
    }
}

/// A request of a server to its user, or to the user's model.
fn ask(id: u64, method: &str, text: &str) -> Value {
    let params = match method {
        ELICIT => {
            json!({"message": text, "requestedSchema": {"type": "object", "properties": {}}})
        }
        _ => {
            json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}], "maxTokens": 9})
        }
    };
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

const ELICIT: &str = "elicitation/create";
const SAMPLE: &str = "sampling/createMessage";

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
    // Longer than a call may stay silent.
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
    // The server reads none of the answers.
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
    let (connection, mut server) = connected().await;
    let called = call(&connection, PATIENCE);
    let message = server.hear("tools/call").await;
    let large = "x".repeat(MCP_ASK_BYTES);
    for (id, method) in [(1, ELICIT), (2, SAMPLE)] {
        server.say(ask(id, method, &large)).await;
        assert!(server.refusal(id).await.contains(&MCP_ASK_BYTES.to_string()), "{method}");
    }
    let fits = &large[..MCP_ASK_BYTES - 1024];
    let most = 3 + MCP_ASKS_WAITING as u64;
    for id in 3..most {
        server.say(ask(id, ELICIT, fits)).await;
    }
    for (id, method) in [(most, ELICIT), (most + 1, SAMPLE)] {
        server.say(ask(id, method, "Who?")).await;
        assert!(server.refusal(id).await.contains("ask again"), "{method}");
    }
    // Waiting requests end with their call, and then new ones may be sent.
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

        // A call that is cancelled meanwhile leaves nothing behind either.
        let (connection, mut server) = connected_in(era).await;
        tokio::select! {
            _ = connection.watch(uri, PATIENCE) => unreachable!("it is not answered"),
            is_watched = async { server.hear(method).await; connection.watched.has(uri) } => assert!(is_watched),
        }
        assert!(!connection.watched.has(uri));
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_of_tools_without_end_is_refused_however_it_is_cut() {
    let too_many = format!("it lists more than {MCP_TOOLS} tools");
    for (of_page, why) in [(1, "pages"), (500, too_many.as_str()), (10_000, too_many.as_str())] {
        let (connection, mut server) = connected().await;
        let endless = tokio::spawn(async move {
            for page in 0.. {
                let asked = server.hear("tools/list").await;
                let tool = |at| json!({"name": format!("t{page}-{at}"), "inputSchema": {"type": "object"}});
                let tools: Vec<Value> = (0..of_page).map(tool).collect();
                server.answer(&asked, json!({"tools": tools, "nextCursor": "more"})).await;
            }
        });
        let refused = connection.tools().await.unwrap_err();
        assert!(refused.contains(why), "{of_page}: {refused}");
        endless.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_server_always_wants_more_input_ends_after_so_many_rounds() {
    for requests in [json!({"roots": {"method": "roots/list"}}), json!({})] {
        let (connection, mut server) = connected_in(Era::Discover).await;
        let called = call(&connection, Duration::from_secs(60));
        for round in 0..MCP_ROUNDS {
            let asked = server.hear("tools/call").await;
            let state = (round > 0).then(|| json!(round.to_string()));
            assert_eq!(asked["params"]["requestState"], state.unwrap_or_default(), "{asked}");
            let next = (round + 1).to_string();
            let wanted =
                json!({"resultType": "input_required", "inputRequests": requests, "requestState": next});
            server.answer(&asked, wanted).await;
        }
        let why = called.await.unwrap().unwrap_err();
        assert!(why.contains(&format!("{MCP_ROUNDS} MRTR rounds")), "{why}");
        assert!(!connection.is_over(), "other calls may end");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_again_and_again_loses_its_call_and_nothing_else() {
    for (method, most, why) in [
        (SAMPLE, MCP_SAMPLES_PER_CALL, "it asked the model more than"),
        (ELICIT, MCP_QUESTIONS_PER_CALL, "it asked more than"),
    ] {
        let (connection, mut server) = connected().await;
        let called = call_by(Passes, &connection, PATIENCE);
        server.hear("tools/call").await;
        for id in 1..=most as u64 {
            assert!(server.say(ask(id, method, "Who?")).await);
            server.reply(id).await;
        }
        assert!(!called.is_finished(), "{method}");
        assert!(server.say(ask(most as u64 + 1, method, "Who?")).await);
        let refused = called.await.unwrap().unwrap_err();
        assert!(refused.contains(why), "{method}: {refused}");
        server.hear("notifications/cancelled").await;
        assert!(!connection.is_over(), "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changed_lists_is_one_change_and_disturbs_no_call() {
    let (connection, mut server) = connected().await;
    assert!(connection.take_stale(), "it was never listed");
    let called = call(&connection, PATIENCE);
    let asked = server.hear("tools/call").await;
    for _ in 0..5_000 {
        for list in ["tools", "prompts", "resources"] {
            server.notify(&format!("notifications/{list}/list_changed")).await;
        }
    }
    server.answer(&asked, json!({"content": []})).await;
    assert!(called.await.unwrap().is_ok());
    // The clock does not advance until everything has been handled.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(connection.take_stale() && !connection.take_stale());
    assert!(!connection.is_over());
}

#[tokio::test]
async fn a_list_that_changes_while_it_is_listed_is_listed_once_for_each_call() {
    let (connection, mut server) = connected().await;
    let (known, user) = of_mcp::known(&[]).await;
    let (owner, spec) = (Owner { user, chat: None }, servers::Server::for_test("s"));
    let listed = || known.0.listed(&owner, &spec, Some("laptop"), &connection);
    for _ in 0..3 {
        let lists = async {
            let asked = server.hear("tools/list").await;
            server.notify("notifications/tools/list_changed").await;
            server.answer(&asked, json!({"tools": []})).await;
        };
        let (once, ()) = tokio::join!(listed(), lists);
        once.unwrap();
        while !connection.is_stale.load(Ordering::Relaxed) {
            tokio::task::yield_now().await;
        }
    }
    // After its last notification, the server is asked for its tools once more, and the listing is then up to date.
    let lists = async {
        let asked = server.hear("tools/list").await;
        server.answer(&asked, json!({"tools": []})).await;
    };
    let (last, ()) = tokio::join!(listed(), lists);
    last.unwrap();
    listed().await.unwrap();
}
