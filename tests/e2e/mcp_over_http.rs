//! MCP servers over HTTP: the addresses that the server allows, and logins.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;
use tests::http::Client;
use tests::{eventually, process};

use crate::mcp_servers::calls;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(60);

/// The server `everything` from npm, over HTTP.
pub(crate) struct OverHttp(Child, pub(crate) u16);

impl OverHttp {
    pub(crate) fn start() -> Self {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let program = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("mcp/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
        let mut child = Command::new("node")
            .arg(program)
            .arg("streamableHttp")
            .env("PORT", port.to_string())
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.contains("listening")).expect("it listens");
        std::thread::spawn(move || lines.for_each(drop));
        Self(child, port)
    }
}

impl Drop for OverHttp {
    fn drop(&mut self) {
        process::terminate(&mut self.0);
    }
}

#[test]
fn a_server_over_http_is_reached_only_at_allowed_addresses() {
    let http = OverHttp::start();
    let url = format!("http://127.0.0.1:{}/mcp", http.1);
    let sum = || calls(vec![("mcp__far__get-sum", json!({"a": 1, "b": 2}))]);
    let guarded = World::new(sum());
    let refused = guarded.alice.run(&["mcp-server", "add", "far", "--url", &url]);
    let told = format!("{}{}", refused.stdout, refused.stderr);
    assert!(refused.code != 0 && told.contains("own network"), "{told}");
    for bad in ["javascript:alert(1)", "http://user:word@a.example/", "file:///etc/passwd"] {
        let refused = guarded.alice.run(&["mcp-server", "add", "other", "--url", bad]);
        assert!(refused.code != 0, "{bad}: {refused:?}");
    }
    let open = World::with(sum(), &["--fetch-allow", "127.0.0.1"]);
    open.run(&["mcp-server", "add", "far", "--url", &url]);
    open.chat("full");
    assert!(open.last_result().contains('3'), "{}", open.last_result());
}

/// A server over HTTP that requires a login.
pub(crate) struct Guarded(Child, pub(crate) u16);

impl Guarded {
    pub(crate) fn start(lifetime_s: u32) -> Self {
        let mut child = Command::new("node")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/guarded.mjs"))
            .env("LIFETIME", lifetime_s.to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("listening ").unwrap().parse().unwrap();
        Self(child, port)
    }

    pub(crate) fn count(&self, of: &str) -> usize {
        tests::http::text(&format!("http://127.0.0.1:{}/{of}", self.1)).parse().unwrap()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        process::terminate(&mut self.0);
    }
}

/// The URL to which a provider redirects a browser that opens its page.
pub(crate) fn sent_back(page: &str) -> String {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().max_redirects(0).max_redirects_will_error(false).build().into();
    agent.get(page).call().unwrap().headers()["location"].to_str().unwrap().to_owned()
}

#[test]
fn client_credentials_need_no_login_and_ten_checks_with_an_expired_token_share_one() {
    let guarded = Guarded::start(3);
    let world = World::with(calls(vec![("mcp__far__whoami", json!({}))]), &["--fetch-allow", "127.0.0.1"]);
    let import = |secret: &str| {
        let oauth =
            json!({"grantType": "client_credentials", "clientId": "sandbridge", "clientSecret": secret});
        let far = json!({"url": format!("http://127.0.0.1:{}/mcp", guarded.1), "oauth": oauth});
        let document = json!({"mcpServers": {"far": far}}).to_string();
        let imported = world.alice.with_stdin(&["mcp-server", "import", "-"], document.as_bytes());
        assert_eq!(imported.code, 0, "{imported:?}");
    };
    import("wr0ng");
    let refused = world.alice.run(&["mcp-server", "check", "far"]);
    assert!(refused.code != 0 && refused.stderr.contains("refused the client credentials"), "{refused:?}");
    assert!(!refused.stderr.contains("wr0ng"), "{refused:?}");
    import("s3cret");
    world.run(&["mcp-server", "check", "far"]);
    eventually("the token has expired", PATIENCE, || (guarded.count("valid") == 0).then_some(()));
    let check =
        || world.alice.command(&["mcp-server", "check", "far"]).stdout(Stdio::null()).spawn().unwrap();
    let checks: Vec<Child> = (0..10).map(|_| check()).collect();
    for mut check in checks {
        assert!(check.wait().unwrap().success());
    }
    assert_eq!(guarded.count("refreshes"), 2, "all checks share one token");
    world.chat("full");
    assert_eq!(world.last_result(), "you are logged in");
    let shown = world.server_named("far");
    assert!(!shown.to_string().contains("s3cret") && shown["logged_in"] == false, "{shown}");
    assert_eq!(shown["secrets"], json!(["oauth.clientSecret"]));
    let login = world.alice.run(&["mcp-server", "login", "far"]);
    assert!(login.code != 0 && login.stderr.contains("needs no login"), "{login:?}");
}

#[test]
fn a_login_belongs_to_its_user_and_ten_calls_with_an_expired_token_refresh_it_once() {
    let guarded = Guarded::start(3);
    let world = World::with(calls(vec![("mcp__far__whoami", json!({}))]), &["--fetch-allow", "127.0.0.1"]);
    let url = format!("http://127.0.0.1:{}/mcp", guarded.1);
    let added = world.alice.run(&["mcp-server", "add", "far", "--url", &url]);
    assert!(added.code != 0 && added.stderr.contains("mcp-server login far"), "{added:?}");
    let client = Client::login(&world.server, "alice");
    let begin = || {
        let start = json!({"redirect_uri": "http://127.0.0.1:9/callback"}).to_string();
        let begun = client.send("POST", "/mcp-servers/far/login", start.as_bytes());
        assert_eq!(begun.status, 200, "{begun:?}");
        sent_back(begun.json()["url"].as_str().unwrap())
    };
    let end = |client: &Client, url: &str| {
        client.send("POST", "/mcp-logins", json!({"url": url}).to_string().as_bytes())
    };
    // Neither another user nor another redirect URL can end the login, and neither can another issuer.
    let back = begin();
    let _bob = world.server.person("bob");
    assert_ne!(end(&Client::login(&world.server, "bob"), &back).status, 200);
    assert_ne!(end(&client, &back.replace("/callback", "/elsewhere")).status, 200);
    assert_ne!(end(&client, &begin().replace("iss=http", "iss=https")).status, 200);
    let back = begin();
    assert_eq!(end(&client, &back).status, 200);
    assert_ne!(end(&client, &back).status, 200, "a code is used once");
    assert_eq!(world.server_named("far")["logged_in"], true);
    eventually("the token has expired", PATIENCE, || (guarded.count("valid") == 0).then_some(()));
    let spawned: Vec<_> = (0..10)
        .map(|_| {
            let mut command = world.alice.command(&["chat", "--new", "--json", "--approval", "full", "go"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in spawned {
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && told.contains("you are logged in"), "{told}");
    }
    assert_eq!(guarded.count("refreshes"), 1, "all calls share one refresh");
    world.run(&["mcp-server", "logout", "far"]);
    assert_eq!(world.server_named("far")["logged_in"], false);
}
