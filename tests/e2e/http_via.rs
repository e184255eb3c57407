//! HTTP through a runner: MCP servers and HTTP tools in a network that only that runner can reach.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tests::docker::{IMAGE, docker, ready};
use tests::http::Client;
use tests::proxy::Proxy;
use tests::xbot::XbotRunner;
use tests::{Machine, Network, Page, Pages, Server, eventually, process};

use crate::docker::{Cleanup, shell};
use crate::http_tools::{Tools, document};
use crate::mcp_over_http::{Guarded, sent_back};
use crate::mcp_servers::calls;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// A network with alice's machine `inner`; her active machine, `laptop`, is outside of it.
pub(crate) struct Private {
    pub(crate) world: World,
    inner: Machine,
    proxy: Proxy,
    token: String,
    pub(crate) network: Network,
}

impl Private {
    /// Starts the network; `allowed` are the hosts that the machine's user named.
    pub(crate) fn new(world: World, network: Network, allowed: &str) -> Self {
        let proxy = network.proxy(&world.server);
        let token = world.alice.add_runner("inner");
        let options: &[&str] = if allowed.is_empty() { &[] } else { &["--http-allow", allowed] };
        let inner = Machine::start_in_network(&network, &proxy, "inner", &token, options);
        inner.wait_online(&world.alice, "inner");
        Self { world, inner, proxy, token, network }
    }

    /// The requests in the audit trail, newest first: the sender, the target, and the outcome of each.
    pub(crate) fn audit(&self) -> Vec<(String, String, String)> {
        let client = Client::login(&self.world.server, "alice");
        let trail = client.call("GET", "/audit?action=http.request&limit=1000").json();
        let entries = trail["entries"].as_array().unwrap_or_else(|| panic!("{trail}")).iter();
        let text = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        entries
            .map(|entry| (text(entry, "location"), text(entry, "target"), text(entry, "outcome")))
            .collect()
    }
}

/// The MCP server "everything" from npm, over HTTP, in a network.
struct Everything(Child);

impl Everything {
    fn start(network: &Network, port: u16) -> Self {
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let mut child = network.inside(|| {
            Command::new("node")
                .arg(program)
                .arg("streamableHttp")
                .env("PORT", port.to_string())
                .stderr(Stdio::piped())
                .stdout(Stdio::null())
                .spawn()
                .unwrap()
        });
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.contains("listening")).expect("it listens");
        std::thread::spawn(move || lines.for_each(drop));
        Self(child)
    }
}

impl Drop for Everything {
    fn drop(&mut self) {
        process::terminate(&mut self.0);
    }
}

fn through(name: &str, url: &str, more: Value) -> Value {
    let mut document = document(name, url, more);
    document["via"] = json!("inner");
    document
}

#[test]
fn an_mcp_server_in_a_private_network_is_used_through_the_runner_there() {
    let network = Network::new();
    let port = network.free_port();
    let _everything = Everything::start(&network, port);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let script = calls(vec![
        ("mcp__far__get-sum", json!({"a": 1, "b": 2})),
        ("mcp__far__trigger-long-running-operation", json!({"duration": 2, "steps": 4})),
    ]);
    // The server itself is allowed to connect to this address too, but nothing listens there on the server's side.
    let world = World::with(script, &["--fetch-allow", "127.0.0.1"]);
    let private = Private::new(world, network, &format!("127.0.0.1:{port}"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    let world = &private.world;
    assert_ne!(world.alice.run(&["mcp-server", "add", "near", "--url", &url]).code, 0);
    let added = world.run(&["mcp-server", "add", "far", "--url", &url, "--via", "inner"]);
    assert!(added.stdout.contains("mcp__far__get-sum"), "{added:?}");
    assert_eq!(world.server_named("far")["action"], format!("{url} via inner"));
    let chat = world.chat("full");
    let results = world.model.asked().pop().unwrap().results();
    assert!(results[results.len() - 2].contains('3'), "{results:?}");
    assert!(results[results.len() - 1].contains("completed"), "{results:?}");
    let output: String =
        chat.iter().filter(|line| line["type"] == "tool_output").map(ToString::to_string).collect();
    for step in ["1 of 4", "2 of 4", "3 of 4"] {
        assert!(output.contains(step), "progress is shown as it comes: {output}");
    }
    let target = format!("POST http://127.0.0.1:{port}");
    let audit = private.audit();
    let is_it = |(location, what, outcome): &&(String, String, String)| {
        location == "inner" && *what == target && outcome == "200"
    };
    assert!(audit.iter().filter(is_it).count() >= 3, "{audit:?}");
    assert!(audit.iter().all(|(location, ..)| location == "inner"), "{audit:?}");
}

#[test]
fn a_login_and_client_credentials_go_through_the_runner_too() {
    let network = Network::new();
    let guarded = network.inside(|| Guarded::start(3_600));
    let url = format!("http://127.0.0.1:{}/mcp", guarded.1);
    let script = calls(vec![("mcp__far__whoami", json!({}))]);
    let private = Private::new(World::new(script), network, &format!("127.0.0.1:{}", guarded.1));
    let (world, network) = (&private.world, &private.network);
    let client = Client::login(&world.server, "alice");
    let add = ["mcp-server", "add", "far", "--url", &url, "--via", "inner"];
    let added = world.alice.run(&add);
    assert!(added.code != 0 && added.stderr.contains("mcp-server login far"), "{added:?}");
    let start = json!({"redirect_uri": "http://127.0.0.1:9/callback"}).to_string();
    let begun = client.send("POST", "/mcp-servers/far/login", start.as_bytes());
    assert_eq!(begun.status, 200, "{begun:?}");
    let page = begun.json()["url"].as_str().unwrap().to_owned();
    let back = network.inside(|| sent_back(&page));
    let ended = client.send("POST", "/mcp-logins", json!({"url": back}).to_string().as_bytes());
    assert_eq!(ended.status, 200, "{ended:?}");
    world.chat("full");
    assert_eq!(world.last_result(), "you are logged in");

    let own = [&add[..], &["--client-id", "sandbridge", "--scope", "tools"]].concat();
    let refused = world.alice.with_stdin(&own, b"wr0ng\n");
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(refused.code != 0 && told.contains("refused the client credentials"), "{told}");
    assert!(!told.contains("wr0ng"), "{told}");
    let added = world.alice.with_stdin(&own, b"s3cret\n");
    assert_eq!(added.code, 0, "{added:?}");
    assert_eq!(world.server_named("far")["secrets"], json!(["oauth.clientSecret"]));
    assert!(network.inside(|| guarded.count("valid")) > 0);
    world.chat("full");
    assert_eq!(world.last_result(), "you are logged in");
}

#[test]
fn an_http_tool_reaches_a_private_service_and_its_secret_stays_in_that_network() {
    let network = Network::new();
    let service = network.inside(|| {
        Pages::start(|path| match path {
            "/moved" => Page::Moved("/items/7".to_owned()),
            "/away" => Page::Moved("http://169.254.169.254/latest".to_owned()),
            "/near" => Page::Moved("http://127.0.0.1:9/".to_owned()),
            "/packed" => Page::Packed("gzip", b"xxx".to_vec()),
            "/endless" => Page::Endless,
            _ => Page::Echo,
        })
    });
    let (port, script) =
        (service.port(), calls(vec![("http__shop", json!({"id": "7"})), ("http__moved", json!({}))]));
    let origin = format!("http://127.0.0.1:{port}");
    let private = Private::new(World::with(script, &["--fetch-allow", "127.0.0.1"]), network, "127.0.0.1");
    let tools = Tools::of(&private.world);
    let id = json!([{"name": "id", "type": "string", "required": true}]);
    let shop = through(
        "shop",
        &format!("{origin}/items/{{{{id}}}}"),
        json!({"method": "POST", "headers": {"X-Key": "{{secret.KEY}}"}, "bodyTemplate": {"a": "{{id}}"}, "parameters": id}),
    );
    assert_eq!(tools.put(&shop).unwrap()["missing_secrets"], json!(["KEY"]));
    assert_eq!(tools.set("shop", "KEY", "s3cret-of-shop"), 204);
    tools.put(&through("moved", &format!("{origin}/moved"), json!({}))).unwrap();
    private.world.chat("full");
    let results = private.world.model.asked().pop().unwrap().results();
    let [one, two] = &results[results.len() - 2..] else { panic!("{results:?}") };
    assert!(one.contains("POST /items/7") && one.contains("[secret KEY]"), "{one}");
    assert!(two.contains("GET /items/7"), "a redirect within the service is followed: {two}");
    let asked = service.asked();
    assert!(asked[0].to_lowercase().contains("x-key: s3cret-of-shop"), "{asked:?}");
    let targets: Vec<_> =
        private.audit().into_iter().rev().map(|(place, what, end)| [place, what, end]).collect();
    let entry =
        |method: &str, status: &str| ["inner".to_owned(), format!("{method} {origin}"), status.to_owned()];
    assert_eq!(targets, [entry("POST", "200"), entry("GET", "302"), entry("GET", "200")]);

    for (path, words) in [
        ("away", "redirects to http://169.254.169.254"),
        ("near", "redirects to http://127.0.0.1:9"),
        ("packed", "compressed"),
    ] {
        tools.put(&through(path, &format!("{origin}/{path}"), json!({}))).unwrap();
        let (is_fine, told) = tools.call(path, json!({}));
        assert!(!is_fine && told.contains(words), "{path}: {told}");
    }
    tools.put(&through("endless", &format!("{origin}/endless"), json!({}))).unwrap();
    let (_, told) = tools.call("endless", json!({}));
    assert!(told.contains("the rest is left out"), "{}", &told[..200]);
    // The same address in another network counts as another service, so the secret is not sent there.
    let mut elsewhere = shop.clone();
    elsewhere["via"] = json!("laptop");
    assert_eq!(tools.put(&elsewhere).unwrap()["dropped_secrets"], json!(["KEY"]));
    let (is_fine, told) = tools.call("shop", json!({"id": "7"}));
    assert!(!is_fine && told.contains("via laptop"), "{told}");
}

#[test]
fn only_named_hosts_are_reached_and_each_refusal_says_what_to_do() {
    let network = Network::new();
    let service = network.inside(|| Pages::start(|_| Page::Echo));
    let port = service.port();
    let private = Private::new(World::new(calls(Vec::new())), network, &format!("127.0.0.1:{port}"));
    let (tools, alice) = (Tools::of(&private.world), &private.world.alice);
    let put = |url: &str, via: &str| {
        let mut document = document("x", url, json!({}));
        document["via"] = json!(via);
        tools.put(&document)
    };
    for (url, words) in [
        (format!("http://127.0.0.1:{}/secret", port ^ 1), "--http-allow 127.0.0.1:".to_owned()),
        (format!("http://localhost:{port}/secret"), format!("--http-allow localhost:{port}")),
        ("http://169.254.169.254/latest/meta-data".to_owned(), "--http-allow".to_owned()),
        ("http://[::ffff:169.254.169.254]/latest".to_owned(), "--http-allow".to_owned()),
        ("http://[fd00:ec2::254]/latest".to_owned(), "--http-allow".to_owned()),
        ("http://10.0.0.1/".to_owned(), "--http-allow 10.0.0.1:80".to_owned()),
    ] {
        put(&url, "inner").unwrap();
        let (is_fine, told) = tools.call("x", json!({}));
        assert!(!is_fine && told.contains(&words), "{url}: {told}");
        let answer: Value = serde_json::from_str(&told).unwrap();
        assert!(!answer["answer"].as_str().unwrap().contains("secret"), "{told}");
    }
    assert!(service.asked().is_empty());
    // Addresses that a tool's document may not contain.
    for url in [format!("http://user:word@127.0.0.1:{port}/"), "file:///etc/passwd".to_owned()] {
        assert!(put(&url, "inner").is_err(), "{url}");
    }
    assert!(put("http://10.0.0.1/", "auto").unwrap_err().contains("runner list"));

    // Tries a runner that is too old, one that does not exist, another user's runner, and an offline one.
    let _legacy = XbotRunner::start(&private.world.server, alice, "old");
    let url = format!("http://127.0.0.1:{port}/");
    let bob = private.world.server.person("bob");
    let _bobs = Machine::start_with(&private.world.server, &bob, "bobs", &["--http-allow", "127.0.0.1"]);
    for (via, words) in [
        ("old", "sandbridge runner rotate old"),
        ("nobody", "no runner named nobody"),
        ("bobs", "no runner named bobs"),
        ("__docker__", "Docker is not enabled"),
        ("none", "refused"),
    ] {
        put(&url, via).unwrap();
        let (is_fine, told) = tools.call("x", json!({}));
        assert!(!is_fine && told.contains(words), "{via}: {told}");
        let refused = alice.run(&["mcp-server", "add", "m", "--url", &url, "--via", via]);
        assert!(refused.code != 0 && refused.stderr.contains(words), "{via}: {refused:?}");
    }
    let Private { mut inner, .. } = private;
    inner.stop();
    put(&url, "inner").unwrap();
    eventually("the runner is known to be offline", PATIENCE, || {
        let (is_fine, told) = tools.call("x", json!({}));
        (!is_fine && told.contains("offline")).then_some(())
    });
}

/// A service that handles one request at a time: the test gets each connection.
struct Slow {
    port: u16,
    asked: Receiver<TcpStream>,
}

impl Slow {
    /// Starts the service, which begins each response with one event.
    fn start(network: &Network) -> Self {
        let listener = network.inside(|| TcpListener::bind("127.0.0.1:0").unwrap());
        let (port, (send, asked)) = (listener.local_addr().unwrap().port(), channel());
        std::thread::spawn(move || {
            for mut socket in listener.incoming().flatten() {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    if socket.read_exact(&mut byte).is_err() {
                        break;
                    }
                    head.push(byte[0]);
                }
                let begin = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: begun\n\n";
                let _ = socket.write_all(begin.as_bytes());
                if send.send(socket).is_err() {
                    return;
                }
            }
        });
        Self { port, asked }
    }

    fn is_over(socket: &mut TcpStream) -> bool {
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        matches!(socket.read(&mut [0]), Ok(0)) || socket.write_all(b"data: more\n\n").is_err()
    }
}

#[test]
fn an_endless_answer_ends_with_its_caller_or_its_runner() {
    let network = Network::new();
    let slow = Slow::start(&network);
    let script = calls(vec![("http__slow", json!({}))]);
    let mut private = Private::new(World::new(script), network, "127.0.0.1");
    let tools = Tools::of(&private.world);
    let url = format!("http://127.0.0.1:{}/", slow.port);
    // The tool's timeout ends the request.
    tools.put(&through("slow", &url, json!({"timeout": 1_000}))).unwrap();
    let (is_fine, told) = tools.call("slow", json!({}));
    assert!(!is_fine && told.contains("within 1000 ms"), "{told}");
    assert!(Slow::is_over(&mut slow.asked.recv_timeout(PATIENCE).unwrap()));
    // The user stops the turn.
    tools.put(&through("slow", &url, json!({"timeout": 60_000}))).unwrap();
    let mut chat = private.world.alice.command(&["chat", "--new", "--json", "--approval", "full", "go"]);
    let mut chat = chat.stdout(Stdio::piped()).spawn().unwrap();
    let mut socket = slow.asked.recv_timeout(PATIENCE).unwrap();
    process::signal(chat.id() as i32, rustix::process::Signal::INT);
    assert!(Slow::is_over(&mut socket), "the chat was stopped");
    chat.wait().unwrap();
    // The runner is killed during a call: the call fails, and the next one works after the runner is back.
    let mut chat = private.world.alice.command(&["chat", "--new", "--json", "--approval", "full", "go"]);
    let chat = chat.stdout(Stdio::piped()).spawn().unwrap();
    let mut socket = slow.asked.recv_timeout(PATIENCE).unwrap();
    process::signal(private.inner.guardian_pid(), rustix::process::Signal::KILL);
    assert!(Slow::is_over(&mut socket));
    let Private { network, proxy, token, world, .. } = &private;
    let inner = Machine::start_in_network(network, proxy, "inner", token, &["--http-allow", "127.0.0.1"]);
    let output = chat.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let result = world.last_result();
    assert!(result.contains("inner") && (result.contains("lost") || result.contains("offline")), "{result}");
    inner.wait_online(&world.alice, "inner");
    private.inner = inner;
    tools.put(&through("slow", &url, json!({"timeout": 1_000}))).unwrap();
    let (_, told) = tools.call("slow", json!({}));
    assert!(told.contains("within 1000 ms"), "the request is sent again: {told}");
    drop(slow.asked.recv_timeout(PATIENCE).unwrap());
}

#[test]
fn a_service_near_a_users_container_is_reached_and_a_rebound_name_is_refused() {
    ready();
    let allowed = ["--docker-http-allow", "shop.internal:8000", "--docker-http-allow", "127.0.0.1:8000"];
    let server = Server::start_with(&[&["--docker", "on", "--docker-image", IMAGE][..], &allowed].concat());
    let alice = server.person("alice");
    alice.run(&["use", "__docker__"]);
    let _cleanup = Cleanup::of(&server);
    shell(&alice, "echo from the container > index.html");
    let container = alice.json(&["container", "status", "--json"])["name"].as_str().unwrap().to_owned();
    let inside = |line: &str| docker(&["exec", &container, "sh", "-c", line]).unwrap();
    inside("httpd -p 127.0.0.1:8000 -h /workspace");
    inside("echo 127.0.0.1 shop.internal >> /etc/hosts");
    let client = Client::login(&server, "alice");
    let call = |url: &str| {
        let document = json!({"name": "x", "description": "d", "url": url, "via": "__docker__"});
        let draft = json!({"text": document.to_string()}).to_string();
        let put = client.send("PUT", "/http-tools/x", draft.as_bytes());
        assert_eq!(put.status, 200, "{put:?}");
        let answer = client.send("POST", "/http-tools/x/try", br#"{"arguments": "{}"}"#).json();
        answer["answer"].as_str().unwrap().to_owned()
    };
    for url in ["http://127.0.0.1:8000/", "http://shop.internal:8000/index.html"] {
        assert!(call(url).contains("from the container"), "{url}: {}", call(url));
    }
    // The name now resolves to an address at which clouds hand out credentials.
    for address in ["169.254.169.254", "::ffff:169.254.169.254", "fd00:ec2::254", "0.0.0.0"] {
        inside(&format!("echo {address} shop.internal > /etc/hosts"));
        let told = call("http://shop.internal:8000/index.html");
        assert!(told.contains("--docker-http-allow") && told.contains("credentials"), "{address}: {told}");
    }
    let told = call("http://169.254.169.254/latest");
    assert!(told.contains("--docker-http-allow"), "{told}");
}
