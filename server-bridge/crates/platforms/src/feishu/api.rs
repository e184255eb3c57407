//! Requests to the API, with the application's token.

use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::http::{Answer, Body, Http, Multipart, too_fast};
use crate::platform::Failure;

/// How long before its expiry a token is renewed.
const TOKEN_MARGIN: Duration = Duration::from_secs(300);

/// Codes for a token that is invalid or has expired.
const TOKEN_CODES: [i64; 4] = [99_991_661, 99_991_663, 99_991_668, 99_991_671];

/// Codes for a message that was recalled or deleted, so that nothing can reply to it.
const RECALLED_CODES: [i64; 3] = [230_011, 230_110, 231_003];

/// The API for one application.
pub(super) struct Api {
    pub(super) http: Http,
    /// The address of the API, such as `https://open.feishu.cn`.
    pub(super) domain: String,
    pub(super) app_id: String,
    pub(super) app_secret: String,
    /// The token, and when it is to be renewed.
    token: Mutex<Option<(String, Instant)>>,
}

impl Api {
    pub(super) fn new(http: Http, domain: String, app_id: String, app_secret: String) -> Self {
        Self { http, domain, app_id, app_secret, token: Mutex::new(None) }
    }

    /// Requests an address to connect to; returns the whole document, whatever code it contains.
    pub(super) async fn endpoint(&self) -> Result<Value, Failure> {
        let url = format!("{}/callback/ws/endpoint", self.domain);
        let body = json!({"AppID": self.app_id, "AppSecret": self.app_secret});
        let answer = self.http.call(Method::POST, &url, &[("locale", "zh")], Body::Json(body)).await?;
        document(&answer)
    }

    /// Calls a path with a body that is created for each try; returns the response's field `data`, or the whole response if it has none.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: impl Fn() -> Body,
    ) -> Result<Value, Failure> {
        for is_last in [false, true] {
            let bearer = format!("Bearer {}", self.token().await?);
            let url = format!("{}/open-apis/{path}", self.domain);
            let answer = self.http.call(method.clone(), &url, &[("authorization", &bearer)], body()).await?;
            let found = document(&answer);
            let code = found.as_ref().map_or(0, |found| found["code"].as_i64().unwrap_or(-1));
            if TOKEN_CODES.contains(&code) && !is_last {
                *self.token.lock().await = None;
                continue;
            }
            return self.judged(&answer, found?);
        }
        Err(Failure::Account("the platform rejects the token, even a newly issued one".to_owned()))
    }

    /// Uploads a file; returns its key.
    pub(super) async fn upload(&self, name: &str, bytes: &Bytes, is_image: bool) -> Result<String, Failure> {
        let form = || {
            let form = Multipart::default();
            Body::Multipart(if is_image {
                form.field("image_type", "message").file("image", name, "application/octet-stream", bytes)
            } else {
                let form = form.field("file_type", "stream").field("file_name", name);
                form.file("file", name, "application/octet-stream", bytes)
            })
        };
        let (path, field) =
            if is_image { ("im/v1/images", "image_key") } else { ("im/v1/files", "file_key") };
        let data = self.call(Method::POST, path, form).await.map_err(Failure::not_sent)?;
        data[field]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| Failure::Message("the platform returned no key for the file".to_owned()))
    }

    /// Fetches a file of a message.
    pub(super) async fn resource(&self, path: &str, max_bytes: u64) -> Result<Bytes, Failure> {
        let bearer = format!("Bearer {}", self.token().await?);
        let url = format!("{}/open-apis/{path}", self.domain);
        self.http.fetch(&url, &[("authorization", &bearer)], max_bytes).await
    }

    async fn token(&self) -> Result<String, Failure> {
        // Locked while a token is requested, so that one request serves all waiting callers.
        let mut token = self.token.lock().await;
        if let Some((token, until)) = &*token
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let url = format!("{}/open-apis/auth/v3/tenant_access_token/internal", self.domain);
        let body = json!({"app_id": self.app_id, "app_secret": self.app_secret});
        let answer =
            self.http.call(Method::POST, &url, &[], Body::Json(body)).await.map_err(Failure::not_sent)?;
        let found =
            self.judged(&answer, document(&answer).map_err(Failure::not_sent)?).map_err(Failure::not_sent)?;
        let new = found["tenant_access_token"].as_str().filter(|token| !token.is_empty());
        let new = new.ok_or_else(|| Failure::Away("the platform returned no token".to_owned()))?.to_owned();
        let lives = Duration::from_secs(found["expire"].as_u64().unwrap_or(0).min(86_400));
        self.http.learn(&new);
        *token = Some((new.clone(), Instant::now() + lives.saturating_sub(TOKEN_MARGIN)));
        Ok(new)
    }

    /// Checks the code of a response: returns the document, or the failure that the code stands for.
    fn judged(&self, answer: &Answer, found: Value) -> Result<Value, Failure> {
        let code = found["code"].as_i64().unwrap_or(-1);
        let why = || {
            self.http.reason(&format!(
                "{} ({code})",
                found["msg"].as_str().unwrap_or("the platform returned no reason")
            ))
        };
        Err(match code {
            0 => {
                let is_bare = found["data"].is_null();
                return Ok(if is_bare { found } else { found["data"].clone() });
            }
            // The limits on requests of the application, and on messages to one chat.
            99_991_400 | 230_020 => {
                let seconds =
                    answer.headers.get("x-ogw-ratelimit-reset").and_then(|value| value.to_str().ok());
                // The limit of a chat is per second.
                let seconds = seconds.and_then(|seconds| seconds.parse().ok());
                too_fast(seconds.or((code == 230_020).then_some(1.0)))
            }
            10_003 | 10_014 | 10_015 | 99_991_543 => Failure::Account(why()),
            code if TOKEN_CODES.contains(&code) => Failure::Account(why()),
            // The platform is busy or has an internal error, or a message with this key is being sent.
            1 | 1_000_040_343 | 230_049 => Failure::Unknown(why()),
            // The bot is not in the group, the person may not use the bot, or the group was dissolved.
            230_002 | 230_013 | 232_009 => Failure::Closed(why()),
            code if RECALLED_CODES.contains(&code) => Failure::Expired,
            _ if answer.status == 429 => too_fast(None),
            _ => Failure::Message(why()),
        })
    }
}

/// Returns the JSON document of a response; a server failure (status 5xx) is an error, whatever the body contains.
fn document(answer: &Answer) -> Result<Value, Failure> {
    let found = answer.json();
    match answer.status {
        status @ 500.. => Err(Failure::Unknown(format!("status {status}"))),
        429 if !found["code"].is_i64() => Err(answer.too_fast()),
        status if !found["code"].is_i64() => {
            Err(Failure::Unknown(format!("the response is not valid JSON; status {status}")))
        }
        _ => Ok(found),
    }
}
