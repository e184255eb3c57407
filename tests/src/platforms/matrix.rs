//! Matrix: a real Synapse, people on it, and a network in between that breaks in the ways a test asks for.

use std::collections::VecDeque;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use ureq::Agent;

use super::serve::{Reply, Request, Service, Serving};
use crate::{binaries, eventually, process};

/// How long Synapse may take to listen: 5 s on an idle machine.
const LISTENS_WITHIN: Duration = Duration::from_secs(120);

/// A running homeserver, `localhost`; it is stopped when this is dropped.
pub struct Synapse {
    process: Child,
    home: TempDir,
    port: u16,
    program: PathBuf,
}

/// An account on it.
#[derive(Clone)]
pub struct Account {
    agent: Agent,
    base: String,
    /// `@name:localhost`.
    pub id: String,
    /// The access token.
    pub token: String,
}

impl Synapse {
    /// Starts a homeserver, with these lines in its configuration.
    pub fn start(configuration: &str) -> Self {
        let program = binaries::directory().join("../third-party/synapse/bin/python");
        assert!(program.exists(), "{} is not there: run the tests through scripts/test", program.display());
        let home = TempDir::with_prefix("sandbridge-synapse-").unwrap();
        // Free a moment ago; the server cannot choose a port itself.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let at = home.path().display();
        let written = format!(
            "server_name: localhost
report_stats: false
enable_registration: true
enable_registration_without_verification: true
listeners: [{{port: {port}, bind_addresses: [127.0.0.1], type: http, tls: false, resources: [{{names: [client, media]}}]}}]
database: {{name: sqlite3, args: {{database: '{at}/database'}}}}
pid_file: '{at}/pid'
media_store_path: '{at}/media'
signing_key_path: '{at}/key'
log_config: '{at}/log.yaml'
macaroon_secret_key: tests
bcrypt_rounds: 4
form_secret: tests
trusted_key_servers: []
{configuration}"
        );
        fs::write(home.path().join("homeserver.yaml"), written).unwrap();
        let log = "{version: 1, handlers: {err: {class: logging.StreamHandler}}, root: {level: WARNING, handlers: [err]}}";
        fs::write(home.path().join("log.yaml"), log).unwrap();
        let keys = Self::command(&program, &home).arg("--generate-keys").output().unwrap();
        assert!(keys.status.success(), "{keys:?}");
        let mut server =
            Self { process: Self::command(&program, &home).spawn().unwrap(), home, port, program };
        server.listens();
        server
    }

    /// A configuration without limits of requests over time.
    pub fn unhurried() -> &'static str {
        "rc_message: {per_second: 1000, burst_count: 1000}
rc_registration: {per_second: 1000, burst_count: 1000}
rc_login: {address: {per_second: 1000, burst_count: 1000}, account: {per_second: 1000, burst_count: 1000}}
rc_joins: {local: {per_second: 1000, burst_count: 1000}}
rc_invites: {per_room: {per_second: 1000, burst_count: 1000}, per_user: {per_second: 1000, burst_count: 1000}, per_issuer: {per_second: 1000, burst_count: 1000}}"
    }

    fn command(program: &PathBuf, home: &TempDir) -> Command {
        let log = fs::File::options().create(true).append(true).open(home.path().join("log")).unwrap();
        let mut command = Command::new(program);
        command.args(["-m", "synapse.app.homeserver", "-c", "homeserver.yaml"]).current_dir(home.path());
        command.env("HOME", home.path()).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command
    }

    fn listens(&mut self) {
        let (agent, url) = (agent(), format!("{}/_matrix/client/versions", self.url()));
        let home = self.home.path().join("log");
        let why = || fs::read_to_string(&home).unwrap_or_default();
        eventually(&format!("Synapse listens: {}", why()), LISTENS_WITHIN, || {
            agent.get(&url).call().ok().filter(|answer| answer.status() == 200).map(drop)
        });
    }

    /// Ends the homeserver, and starts it again with its stored data.
    pub fn restart(&mut self) {
        process::terminate(&mut self.process);
        self.process = Self::command(&self.program, &self.home).spawn().unwrap();
        self.listens();
    }

    /// The homeserver's base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A new account.
    pub fn account(&self, name: &str) -> Account {
        let agent = agent();
        let body = json!({"username": name, "password": "correct horse", "auth": {"type": "m.login.dummy"}});
        let url = format!("{}/_matrix/client/v3/register", self.url());
        let answer = agent.post(&url).send(body.to_string()).unwrap();
        let answer: Value = serde_json::from_str(&answer.into_body().read_to_string().unwrap()).unwrap();
        let text = |key: &str| answer[key].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        Account { agent, base: self.url(), id: text("user_id"), token: text("access_token") }
    }
}

impl Drop for Synapse {
    fn drop(&mut self) {
        process::terminate(&mut self.process);
    }
}

fn agent() -> Agent {
    Agent::config_builder().http_status_as_error(false).build().into()
}

impl Account {
    /// Sends a request below `/_matrix`; returns its status and its answer.
    pub fn try_call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}/_matrix/{path}", self.base))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json");
        let answer = match method {
            "GET" => self.agent.run(request.body(()).unwrap()),
            _ => self.agent.run(request.body(body.to_string()).unwrap()),
        };
        let answer = answer.unwrap();
        let status = answer.status().as_u16();
        let text = answer.into_body().read_to_string().unwrap();
        (status, serde_json::from_str(&text).unwrap_or_default())
    }

    /// Sends a request that has to succeed; returns its answer.
    pub fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, answer) = self.try_call(method, path, body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// A new room with these people invited.
    pub fn room(&self, invited: &[&Account]) -> String {
        let invited: Vec<&str> = invited.iter().map(|account| account.id.as_str()).collect();
        let room = json!({"preset": "private_chat", "invite": invited, "is_direct": invited.len() == 1});
        self.call("POST", "client/v3/createRoom", &room)["room_id"].as_str().unwrap().to_owned()
    }

    /// Joins a room.
    pub fn join(&self, room: &str) {
        self.call("POST", &format!("client/v3/join/{room}"), &json!({}));
    }

    /// Sends an event of a type; returns its id.
    pub fn send(&self, room: &str, kind: &str, content: &Value) -> String {
        let key =
            crate::http::encode(&format!("{}-{:?}", self.id, std::time::Instant::now())).replace('/', "_");
        let sent = self.call("PUT", &format!("client/v3/rooms/{room}/send/{kind}/{key}"), content);
        sent["event_id"].as_str().unwrap().to_owned()
    }

    /// Sends a text message; returns the event's id.
    pub fn say(&self, room: &str, text: &str) -> String {
        self.send(room, "m.room.message", &json!({"msgtype": "m.text", "body": text}))
    }

    /// Uploads a file; returns its `mxc` address.
    pub fn upload(&self, name: &str, bytes: &[u8]) -> String {
        let url = format!("{}/_matrix/media/v3/upload?filename={name}", self.base);
        let request = self.agent.post(&url).header("authorization", format!("Bearer {}", self.token));
        let answer = request.header("content-type", "application/octet-stream").send(bytes).unwrap();
        let answer: Value = serde_json::from_str(&answer.into_body().read_to_string().unwrap()).unwrap();
        answer["content_uri"].as_str().unwrap().to_owned()
    }

    /// A file's bytes.
    pub fn download(&self, mxc: &str) -> Vec<u8> {
        let url =
            format!("{}/_matrix/client/v1/media/download/{}", self.base, mxc.trim_start_matches("mxc://"));
        let request = self.agent.get(&url).header("authorization", format!("Bearer {}", self.token));
        request.call().unwrap().into_body().read_to_vec().unwrap()
    }

    /// The messages in a room, the account's own included: each message event, the oldest first.
    pub fn heard(&self, room: &str) -> Vec<Value> {
        let (mut events, mut from) = (Vec::new(), String::new());
        loop {
            let path = format!("client/v3/rooms/{room}/messages?dir=b&limit=500{from}");
            let page = self.call("GET", &path, &Value::Null);
            events.extend(page["chunk"].as_array().unwrap().clone());
            let Some(next) = page["end"].as_str() else { break };
            from = format!("&from={next}");
        }
        events.into_iter().rev().filter(|event| event["type"] == "m.room.message").collect()
    }
}

/// A fault for the next request whose path contains a text.
#[derive(Clone, Debug)]
pub enum Fault {
    /// The connection ends before anything is done.
    Cut,
    /// The request is carried out, and the connection ends before the answer.
    DoneAndCut,
    /// The request is carried out, and no answer is sent.
    DoneAndSilent,
    /// No answer is sent.
    Silent,
    /// This status and this document, without asking the homeserver.
    Answer(u16, Value),
    /// A redirect to another place.
    Moved(String),
    /// A body that claims this length.
    Lying(u64, Vec<u8>),
}

/// A network between an account and its homeserver.
pub struct Network {
    serving: Serving,
    inner: Arc<Inner>,
}

struct Inner {
    to: String,
    agent: Agent,
    faults: Mutex<VecDeque<(String, Fault)>>,
    paths: Mutex<Vec<String>>,
    /// The position of the client's last sync.
    position: Mutex<String>,
    /// The position for the client's next sync, instead of its own.
    rewinds: Mutex<Option<String>>,
    /// The events that the homeserver accepted on this network, each once: the id, and the content.
    sent: Mutex<Vec<(String, Value)>>,
}

impl Network {
    /// A network that leads to a homeserver.
    pub fn to(synapse: &Synapse) -> Self {
        let inner = Arc::new(Inner {
            to: synapse.url(),
            agent: agent(),
            faults: Mutex::default(),
            paths: Mutex::default(),
            position: Mutex::default(),
            rewinds: Mutex::default(),
            sent: Mutex::default(),
        });
        Self { serving: Serving::start(inner.clone()), inner }
    }

    /// The address at which clients reach the homeserver through this network.
    pub fn url(&self) -> String {
        self.serving.url()
    }

    /// Ends all connections.
    pub fn cut(&self) {
        self.serving.cut();
    }

    /// Sets a fault for the next request whose path contains this text; a second call sets one for the request after that.
    pub fn fault(&self, path: &str, fault: Fault) {
        self.inner.faults.lock().unwrap_or_else(PoisonError::into_inner).push_back((path.to_owned(), fault));
    }

    /// The position of the last sync, which the client had committed before it.
    pub fn position(&self) -> String {
        self.inner.position.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets the next sync begin at an earlier position, so that all events after it are delivered again.
    pub fn rewind(&self, to: &str) {
        *self.inner.rewinds.lock().unwrap_or_else(PoisonError::into_inner) = Some(to.to_owned());
    }

    /// The contents of the events that the homeserver accepted, each once, without the first `count`.
    pub fn sent_after(&self, count: usize) -> Vec<Value> {
        let sent = self.inner.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.iter().skip(count).map(|(_, content)| content.clone()).collect()
    }

    /// How many requests had this in their paths.
    pub fn asked(&self, path: &str) -> usize {
        let paths = self.inner.paths.lock().unwrap_or_else(PoisonError::into_inner);
        paths.iter().filter(|asked| asked.contains(path)).count()
    }
}

impl Inner {
    fn forward(&self, request: &Request) -> Result<Reply, ureq::Error> {
        let query =
            if request.path.ends_with("/sync") { self.synced(request) } else { request.query.clone() };
        let query = if query.is_empty() { query } else { format!("?{query}") };
        let mut asked = ureq::http::Request::builder()
            .method(request.method.as_str())
            .uri(format!("{}{}{query}", self.to, request.path));
        for name in ["authorization", "content-type"] {
            if !request.header(name).is_empty() {
                asked = asked.header(name, request.header(name));
            }
        }
        let answer = if request.body.is_empty() && matches!(request.method.as_str(), "GET" | "DELETE") {
            self.agent.run(asked.body(())?)?
        } else {
            self.agent.run(asked.body(request.body.clone())?)?
        };
        let status = answer.status().as_u16();
        let headers = ["content-type", "retry-after", "location"].iter().filter_map(|name| {
            Some(((*name).to_owned(), answer.headers().get(*name)?.to_str().ok()?.to_owned()))
        });
        let headers = headers.collect();
        let body = answer.into_body().with_config().limit(1 << 30).read_to_vec()?;
        if request.path.contains("/send/") && status == 200 {
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            let id = answer["event_id"].as_str().unwrap_or_default().to_owned();
            let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
            if sent.iter().rev().all(|(known, _)| *known != id) {
                sent.push((id, request.json()));
            }
        }
        Ok(Reply::Is(status, headers, body))
    }

    /// Records the position of a sync; returns its query, from which an earlier position may be asked.
    fn synced(&self, request: &Request) -> String {
        let Some(since) = request.query("since") else { return request.query.clone() };
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = since;
        match self.rewinds.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(to) => {
                let others = request.query.split('&').filter(|pair| !pair.starts_with("since="));
                let since = format!("since={to}");
                others.chain([since.as_str()]).collect::<Vec<_>>().join("&")
            }
            None => request.query.clone(),
        }
    }
}

impl Service for Inner {
    fn answer(&self, request: &Request) -> Reply {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner).push(request.path.clone());
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let at = faults.iter().position(|(path, _)| request.path.contains(path.as_str()));
        let fault = at.and_then(|at| faults.remove(at)).map(|(_, fault)| fault);
        drop(faults);
        match fault {
            Some(Fault::Cut) => Reply::Cut,
            Some(Fault::Silent) => Reply::Silent,
            Some(Fault::Answer(status, document)) => Reply::json(status, &document),
            Some(Fault::Moved(to)) => Reply::moved(&to),
            Some(Fault::Lying(length, bytes)) => Reply::Lying(length, bytes),
            Some(Fault::DoneAndCut) => {
                let _ = self.forward(request);
                Reply::Cut
            }
            Some(Fault::DoneAndSilent) => {
                let _ = self.forward(request);
                Reply::Silent
            }
            // If the homeserver is unreachable, the connection ends.
            None => self.forward(request).unwrap_or(Reply::Cut),
        }
    }
}
