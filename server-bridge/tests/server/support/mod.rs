//! Test support: a server with its own home directory on a free port, its clients, and scripted runners.

mod page;
mod runner;
mod socket;

use std::net::SocketAddr;
use std::time::Duration;

use reqwest::{Client, Method, RequestBuilder, Response};
use serde_json::Value;
use server_bridge::config::{Config, ServeArgs, database};
use server_bridge::serve::Server;
use store::{AuditRecord, Name, Store};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub use page::{Page, cookie_of};
pub use runner::{FakeRunner, facts, handshake, handshake_text, refusal_of};
pub use socket::{Frame, Socket};

pub const PASSWORD: &str = "correct horse battery";

/// The timeout for every step of these tests.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running server in this process.
pub struct TestServer {
    pub address: SocketAddr,
    pub store: Store,
    /// The URL for creating the first account, if the server started without users.
    pub setup_url: Option<String>,
    home: TempDir,
    shutdown: CancellationToken,
    running: JoinHandle<()>,
}

impl TestServer {
    pub async fn start() -> Self {
        Self::start_with(ServeArgs::default()).await
    }

    pub async fn start_with(args: ServeArgs) -> Self {
        Self::start_in(tempfile::tempdir().unwrap(), args).await
    }

    /// Starts a server with the data of an earlier one.
    pub async fn start_in(home: TempDir, mut args: ServeArgs) -> Self {
        server_bridge::tls::install_provider();
        args.listen.get_or_insert_with(|| "127.0.0.1:0".to_owned());
        args.docker.get_or_insert_with(|| "off".to_owned());
        let config = Config::load(args, Some(home.path())).unwrap();
        let server = Server::bind(config).await.unwrap();
        let (address, shutdown) = (server.address(), server.shutdown_token());
        let store = server.store().clone();
        let setup_url = server.setup_url();
        let running = tokio::spawn(server.run());
        Self { address, store, setup_url, home, shutdown, running }
    }

    /// Stops the server and waits until all of its tasks have ended.
    pub async fn stop(self) {
        self.stop_and_reopen().await;
    }

    /// Stops the server; returns its store, together with the directory that contains it.
    pub async fn stop_and_reopen(self) -> (Store, TempDir) {
        self.shutdown.cancel();
        tokio::time::timeout(PATIENCE, self.running).await.expect("the server stops in time").unwrap();
        (Store::open(&database(self.home.path())).await.unwrap(), self.home)
    }

    /// The server's home directory.
    pub fn home(&self) -> &std::path::Path {
        self.home.path()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Creates a user, and logs in as that user.
    pub async fn user(&self, name: &str) -> TestClient {
        self.store.add_user(&Name::parse(name).unwrap(), PASSWORD, false).await.unwrap();
        self.log_in(name).await
    }

    /// Creates an administrator, and logs in as that user.
    pub async fn admin(&self, name: &str) -> TestClient {
        self.store.add_user(&Name::parse(name).unwrap(), PASSWORD, true).await.unwrap();
        self.log_in(name).await
    }

    pub async fn log_in(&self, name: &str) -> TestClient {
        let http = Client::new();
        let body = serde_json::json!({"user": name, "password": PASSWORD});
        let response = http.post(self.url("/api/v1/login")).json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        let token = json(response).await["token"].as_str().unwrap().to_owned();
        TestClient { http, base: self.url("/api/v1"), token }
    }

    /// Waits until the audit trail has an entry with this action and outcome, and returns it.
    pub async fn audited(&self, action: &str, outcome: &str) -> AuditRecord {
        eventually(|| async {
            let entries = self.store.audit(100, None).await.unwrap();
            entries.into_iter().find(|entry| entry.action == action && entry.outcome == outcome)
        })
        .await
    }
}

/// Calls `ask` until it returns a value.
pub async fn eventually<T, F: Future<Output = Option<T>>>(mut ask: impl FnMut() -> F) -> T {
    let asking = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it happens in time")
}

/// A logged-in program.
pub struct TestClient {
    pub http: Client,
    pub base: String,
    pub token: String,
}

impl TestClient {
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.base)).bearer_auth(&self.token)
    }

    pub async fn get(&self, path: &str) -> Value {
        let response = self.request(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "GET {path}");
        json(response).await
    }

    pub async fn status(&self, method: Method, path: &str) -> u16 {
        self.request(method, path).send().await.unwrap().status().as_u16()
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let response = self.request(method, path).json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Adds a runner; returns its token.
    pub async fn add_runner(&self, name: &str) -> String {
        let (status, added) = self.send(Method::POST, "/runners", serde_json::json!({"name": name})).await;
        assert_eq!(status, 201, "{added}");
        added["token"].as_str().unwrap().to_owned()
    }

    /// Adds a runner and connects a scripted one for it; returns when the server reports it as online.
    pub async fn connect_runner(&self, name: &str) -> FakeRunner {
        let token = self.add_runner(name).await;
        let runner = FakeRunner::connect(&self.base, &token, name).await.unwrap();
        self.wait_online(name, true).await;
        runner
    }

    pub async fn wait_online(&self, name: &str, online: bool) -> Value {
        eventually(|| async {
            let runners = self.get("/runners").await;
            let runners = runners.as_array().unwrap();
            runners.iter().find(|runner| runner["name"] == name && runner["online"] == online).cloned()
        })
        .await
    }

    pub async fn socket(&self, path: &str) -> Socket {
        let url = format!("{}{path}", self.base).replacen("http", "ws", 1);
        Socket::connect(&url, &[("authorization", &format!("Bearer {}", self.token))]).await.unwrap()
    }
}

pub async fn json(response: Response) -> Value {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

/// A client of the same server with a key of this scope.
pub async fn program(person: &TestClient, name: &str, scope: &str) -> TestClient {
    let (status, made) =
        person.send(Method::POST, "/keys", serde_json::json!({"name": name, "scope": scope})).await;
    assert_eq!(status, 201, "{made}");
    assert!(made["key"].as_str().unwrap().starts_with("sbk_"), "{made}");
    let token = made["key"].as_str().unwrap().to_owned();
    TestClient { http: person.http.clone(), base: person.base.clone(), token }
}
