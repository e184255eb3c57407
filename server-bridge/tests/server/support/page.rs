//! A page in a browser, from the server's point of view: a token in a header, a cookie, and an Origin.

use reqwest::header::{COOKIE, ORIGIN, SET_COOKIE};
use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

use super::{PASSWORD, Socket, TestServer, json as body_of};

/// A logged-in page.
pub struct Page {
    pub http: Client,
    pub origin: String,
    pub token: String,
    /// The session's cookie as the browser sends it: its name and its value.
    pub cookie: String,
}

impl Page {
    /// Logs in an existing account.
    pub async fn log_in(server: &TestServer, name: &str) -> Self {
        let (http, origin) = (Client::new(), server.url(""));
        let body = json!({"user": name, "password": PASSWORD});
        let request = http.post(server.url("/api/v1/login")).header(ORIGIN, &origin).json(&body);
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        let cookie = cookie_of(&response);
        let token = body_of(response).await["token"].as_str().unwrap().to_owned();
        Self { http, origin, token, cookie }
    }

    /// A new user, logged in.
    pub async fn new(server: &TestServer, name: &str, is_admin: bool) -> Self {
        server.store.add_user(&store::Name::parse(name).unwrap(), PASSWORD, is_admin).await.unwrap();
        Self::log_in(server, name).await
    }

    /// A request with all headers that the page sends.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.bare(method, path).bearer_auth(&self.token).header(COOKIE, &self.cookie)
    }

    /// A request with only the Origin header.
    pub fn bare(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1{path}", self.origin)).header(ORIGIN, &self.origin)
    }

    pub async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let response = self.request(method, path).json(&body).send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub async fn status(&self, method: Method, path: &str) -> u16 {
        self.request(method, path).send().await.unwrap().status().as_u16()
    }

    /// Opens a WebSocket as the page does; if that is refused, returns the status.
    pub async fn socket(&self, path: &str) -> Result<Socket, u16> {
        let protocols = format!("sandbridge, bearer.{}", self.token);
        let headers =
            [("cookie", &*self.cookie), ("origin", &*self.origin), ("sec-websocket-protocol", &*protocols)];
        Socket::connect(&format!("{}/api/v1{path}", self.origin.replacen("http", "ws", 1)), &headers).await
    }
}

/// Returns the name and the value of the cookie that a response sets.
pub fn cookie_of(response: &reqwest::Response) -> String {
    response.headers()[SET_COOKIE].to_str().unwrap().split(';').next().unwrap().to_owned()
}
