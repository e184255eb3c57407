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

/// The API for one application.
pub(super) struct Api {
    pub(super) http: Http,
    /// The address of the API, such as `https://api.dingtalk.com`.
    pub(super) base: String,
    /// The address for uploading files, such as `https://oapi.dingtalk.com`.
    pub(super) upload: String,
    pub(super) client_id: String,
    pub(super) secret: String,
    token: Mutex<Option<(String, Instant)>>,
}

impl Api {
    pub(super) fn new(http: Http, base: String, upload: String, client_id: String, secret: String) -> Self {
        Self { http, base, upload, client_id, secret, token: Mutex::new(None) }
    }

    /// Requests an address to connect to.
    pub(super) async fn open(&self) -> Result<String, Failure> {
        let topics = json!([{"type": "CALLBACK", "topic": "/v1.0/im/bot/messages/get"}]);
        let body = json!({"clientId": self.client_id, "clientSecret": self.secret, "subscriptions": topics,
            "ua": concat!("sandbridge/", env!("CARGO_PKG_VERSION")), "localIp": "127.0.0.1"});
        let url = format!("{}/v1.0/gateway/connections/open", self.base);
        let answer =
            self.http.call(Method::POST, &url, &[], Body::Json(body)).await.map_err(Failure::not_sent)?;
        let found = self.judged(&answer)?;
        let (endpoint, ticket) = (found["endpoint"].as_str(), found["ticket"].as_str());
        let (Some(endpoint), Some(ticket)) = (endpoint, ticket) else {
            return Err(Failure::Away("the platform returned no address to connect to".to_owned()));
        };
        let url = reqwest::Url::parse_with_params(endpoint, [("ticket", ticket)]);
        url.map(String::from)
            .map_err(|_| Failure::Away("the platform returned an invalid address to connect to".to_owned()))
    }

    pub(super) async fn token(&self) -> Result<String, Failure> {
        // Locked while a token is requested, so that one request serves all waiting callers.
        let mut token = self.token.lock().await;
        if let Some((token, until)) = &*token
            && Instant::now() < *until
        {
            return Ok(token.clone());
        }
        let url = format!("{}/v1.0/oauth2/accessToken", self.base);
        let body = json!({"appKey": self.client_id, "appSecret": self.secret});
        let answer =
            self.http.call(Method::POST, &url, &[], Body::Json(body)).await.map_err(Failure::not_sent)?;
        let found = self.judged(&answer).map_err(|failure| match failure {
            // The credentials are the only part of this request that can be wrong.
            Failure::Message(why) => Failure::Account(why),
            other => other.not_sent(),
        })?;
        let new = found["accessToken"].as_str().filter(|token| !token.is_empty());
        let new = new.ok_or_else(|| Failure::Away("the platform returned no token".to_owned()))?.to_owned();
        let lives = Duration::from_secs(found["expireIn"].as_u64().unwrap_or(0).min(86_400));
        self.http.learn(&new);
        *token = Some((new.clone(), Instant::now() + lives.saturating_sub(TOKEN_MARGIN)));
        Ok(new)
    }

    /// Calls a path with the token.
    pub(super) async fn call(&self, path: &str, body: Value) -> Result<Value, Failure> {
        for is_last in [false, true] {
            let token = self.token().await?;
            let url = format!("{}{path}", self.base);
            let headers = [("x-acs-dingtalk-access-token", token.as_str())];
            let answer = self.http.call(Method::POST, &url, &headers, Body::Json(body.clone())).await?;
            if answer.status == 401 && !is_last {
                *self.token.lock().await = None;
                continue;
            }
            return self.judged(&answer);
        }
        Err(Failure::Account("the platform rejects the token, even a newly issued one".to_owned()))
    }

    /// Sends a message by the webhook of a session; `false` if the webhook has expired.
    pub(super) async fn by_session(&self, webhook: &str, body: Value) -> Result<bool, Failure> {
        let answer = self.http.call(Method::POST, webhook, &[], Body::Json(body)).await?;
        let found = answer.json();
        match found["errcode"].as_i64() {
            Some(0) => Ok(true),
            Some(300_001) => Ok(false),
            // Too many messages in a minute.
            Some(130_101 | 90_018) => Err(too_fast(None)),
            Some(code) => Err(Failure::Message(self.old_reason(&found, code))),
            None => Err(self
                .judged(&answer)
                .err()
                .unwrap_or_else(|| Failure::Unknown("the response is not valid JSON".to_owned()))),
        }
    }

    /// Uploads a file; returns its media id.
    pub(super) async fn upload(&self, name: &str, bytes: &Bytes, is_image: bool) -> Result<String, Failure> {
        let token = self.token().await?;
        let kind = if is_image { "image" } else { "file" };
        let url = reqwest::Url::parse_with_params(
            &format!("{}/media/upload", self.upload),
            [("access_token", token.as_str()), ("type", kind)],
        );
        let url = url.map_err(|_| Failure::Message("the upload address is invalid".to_owned()))?;
        let form =
            Multipart::default().field("type", kind).file("media", name, "application/octet-stream", bytes);
        let answer = self
            .http
            .call(Method::POST, url.as_str(), &[], Body::Multipart(form))
            .await
            .map_err(Failure::not_sent)?;
        let found = answer.json();
        if let Some(id) = found["media_id"].as_str() {
            return Ok(id.to_owned());
        }
        match found["errcode"].as_i64() {
            // The platform no longer accepts the token.
            Some(40_014 | 42_001) => {
                *self.token.lock().await = None;
                Err(Failure::Away("the token has expired".to_owned()))
            }
            Some(code) => Err(Failure::Message(self.old_reason(&found, code))),
            None => {
                let failure = self.judged(&answer).err();
                Err(failure
                    .unwrap_or_else(|| Failure::Away("the response is not valid JSON".to_owned()))
                    .not_sent())
            }
        }
    }

    fn old_reason(&self, found: &Value, code: i64) -> String {
        self.http.reason(&format!(
            "{} ({code})",
            found["errmsg"].as_str().unwrap_or("the platform returned no reason")
        ))
    }

    /// Checks a response: returns its document, or the failure that it reports.
    fn judged(&self, answer: &Answer) -> Result<Value, Failure> {
        let found = answer.json();
        if answer.is_success() {
            return Ok(found);
        }
        let code = found["code"].as_str().unwrap_or_default();
        let why = || {
            self.http.reason(&format!(
                "{} ({code})",
                found["message"].as_str().unwrap_or("the platform returned no reason")
            ))
        };
        Err(match answer.status {
            401 => Failure::Account(why()),
            429 => answer.too_fast(),
            _ if code.contains("QpsLimit") => too_fast(Some(1.0)),
            status @ 500.. => Failure::Unknown(format!("status {status}")),
            // The robot was removed from the group, or the group was deleted.
            _ if code.contains("chatbot.notExist") || code.contains("conversation") => Failure::Closed(why()),
            _ => Failure::Message(why()),
        })
    }
}
