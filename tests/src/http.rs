//! The HTTP API as another program would call it.

use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::http::Response;

use crate::server::{PASSWORD, Server};

/// The response at an address that needs no login, as text.
pub fn text(url: &str) -> String {
    ureq::get(url).call().unwrap().into_body().read_to_string().unwrap()
}

/// A logged-in HTTP client.
pub struct Client {
    agent: Agent,
    base: String,
    token: String,
    /// The cookie that a browser sends in addition to the token, for a page.
    cookie: String,
}

/// A status and a body.
#[derive(Debug)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// The body, unchanged.
    pub body: Vec<u8>,
}

impl Client {
    /// A client that is not logged in.
    pub fn anonymous(server: &Server) -> Self {
        let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
        Self { agent, base: format!("{}/api/v1", server.url()), token: String::new(), cookie: String::new() }
    }

    /// Logs in as an existing user.
    pub fn login(server: &Server, name: &str) -> Self {
        let mut client = Self::anonymous(server);
        let answer =
            client.send("POST", "/login", json!({"user": name, "password": PASSWORD}).to_string().as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        client.token = answer.json()["token"].as_str().unwrap().to_owned();
        client
    }

    /// Logs in as a page does: with a cookie in addition to the token.
    pub fn log_in_as_page(server: &Server, name: &str) -> Self {
        let mut client = Self::anonymous(server);
        let body = json!({"user": name, "password": PASSWORD}).to_string();
        let request = client.agent.post(format!("{}/login", client.base)).header("origin", server.url());
        let response = request.header("content-type", "application/json").send(body).unwrap();
        let cookie = response.headers()["set-cookie"].to_str().unwrap().split(';').next().unwrap();
        client.cookie = cookie.to_owned();
        client.token = Answer::read(response).json()["token"].as_str().unwrap().to_owned();
        client
    }

    /// A client with this API key for the server at `url`. It gives up each request after `timeout`, and keeps no connection open.
    pub fn at(url: &str, token: &str, timeout: Duration) -> Self {
        let agent = Agent::config_builder().http_status_as_error(false);
        let agent = agent.timeout_global(Some(timeout)).max_idle_connections(0).build().into();
        Self { agent, base: format!("{url}/api/v1"), token: token.to_owned(), cookie: String::new() }
    }

    /// A client with this token.
    pub fn with_token(server: &Server, token: &str) -> Self {
        Self { token: token.to_owned(), ..Self::anonymous(server) }
    }

    /// A page's cookie: its name and its value.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// The session's token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Sends a request without a body; returns the response.
    pub fn call(&self, method: &str, path: &str) -> Answer {
        self.send(method, path, b"")
    }

    /// The first bytes of the file at a path.
    pub fn head(&self, path: &str, bytes: u64) -> Answer {
        let request = ureq::http::Request::get(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.token))
            .header("range", format!("bytes=0-{}", bytes - 1));
        Answer::read(self.agent.run(request.body(()).unwrap()).unwrap())
    }

    /// Sends a request with a body, which is JSON unless it goes to a file.
    pub fn send(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.send_with(method, path, &[], body)
    }

    /// Sends a request with a body and more headers.
    pub fn send_with(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.try_send_with(method, path, headers, body).unwrap()
    }

    /// Sends a request; returns the response, unless the connection fails before its end.
    pub fn try_send(&self, method: &str, path: &str, body: &[u8]) -> Result<Answer, ureq::Error> {
        self.try_send_with(method, path, &[], body)
    }

    fn try_send_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Answer, ureq::Error> {
        let content_type =
            if path.starts_with("/files?") { "application/octet-stream" } else { "application/json" };
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", content_type);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = if self.cookie.is_empty() {
            request
        } else {
            let origin = self.base.trim_end_matches("/api/v1");
            request.header("cookie", &self.cookie).header("origin", origin)
        };
        let response = if matches!(method, "GET" | "DELETE") {
            self.agent.run(request.body(()).unwrap())
        } else {
            self.agent.run(request.body(body.to_vec()).unwrap())
        };
        Answer::try_read(response?)
    }
}

impl Answer {
    fn read(response: Response<ureq::Body>) -> Self {
        Self::try_read(response).unwrap()
    }

    fn try_read(response: Response<ureq::Body>) -> Result<Self, ureq::Error> {
        let status = response.status().as_u16();
        let body = response.into_body().with_config().limit(1 << 30).read_to_vec()?;
        Ok(Self { status, body })
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// The error's kind.
    pub fn kind(&self) -> String {
        self.json()["error"]["kind"].as_str().unwrap_or_default().to_owned()
    }
}

/// Percent-encodes a query value.
pub fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => (byte as char).to_string(),
            other => format!("%{other:02X}"),
        })
        .collect()
}
