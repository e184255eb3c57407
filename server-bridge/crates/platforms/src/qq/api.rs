//! Requests to the API, with a token that is renewed before it expires.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::http::{Body, Http};
use crate::platform::Failure;

/// How long before its expiry a token is renewed; the platform issues a new one only in the last minute.
const TOKEN_MARGIN: Duration = Duration::from_secs(45);

/// Error codes for a message that is too old to be answered, and for too many answers to one message. Not verified against the platform.
const EXPIRED_CODES: [i64; 4] = [304_027, 40_034_005, 40_034_024, 40_034_025];

/// The error code for a message whose number was used before, which means that the message was accepted.
const DOUBLE_CODE: i64 = 40_054_005;

/// The API for one bot.
pub(super) struct Api {
    pub(super) http: Http,
    /// The address of the API, such as `https://api.sgroup.qq.com`.
    pub(super) base: String,
    pub(super) token_url: String,
    pub(super) app_id: String,
    pub(super) secret: String,
    token: Mutex<Option<(String, Instant)>>,
}

impl Api {
    pub(super) fn new(http: Http, base: String, token_url: String, app_id: String, secret: String) -> Self {
        Self { http, base, token_url, app_id, secret, token: Mutex::new(None) }
    }

    /// The value of the header `Authorization`.
    pub(super) async fn authorization(&self) -> Result<String, Failure> {
        // Locked while a token is requested, so that one request serves all waiting callers.
        let mut token = self.token.lock().await;
        if let Some((token, until)) = &*token
            && Instant::now() < *until
        {
            return Ok(format!("QQBot {token}"));
        }
        let body = json!({"appId": self.app_id, "clientSecret": self.secret});
        let answer = self.http.call(Method::POST, &self.token_url, &[], Body::Json(body)).await;
        let answer = answer.map_err(Failure::not_sent)?;
        let found = answer.json();
        let Some(new) = found["access_token"].as_str().filter(|token| !token.is_empty()) else {
            let why = self.http.reason(&format!(
                "{} ({})",
                found["message"].as_str().unwrap_or("no token"),
                found["code"]
            ));
            // A refusal has a code; a response from a failing server has none.
            return Err(if found["code"].is_i64() && answer.status < 500 {
                Failure::Account(why)
            } else {
                Failure::Away(why)
            });
        };
        // The number of seconds is sent as text.
        let seconds =
            found["expires_in"].as_str().and_then(|text| text.parse().ok()).or(found["expires_in"].as_u64());
        let lives = Duration::from_secs(seconds.unwrap_or(0).min(86_400)).saturating_sub(TOKEN_MARGIN);
        self.http.learn(new);
        *token = Some((new.to_owned(), Instant::now() + lives));
        Ok(format!("QQBot {new}"))
    }

    /// Forgets the token, because the platform rejected it.
    pub(super) async fn renew(&self) {
        *self.token.lock().await = None;
    }

    /// Calls a path; returns the response's document, or `None` if the message duplicates one that was accepted.
    pub(super) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> Result<Option<Value>, Failure> {
        for is_last in [false, true] {
            let authorization = self.authorization().await?;
            let url = format!("{}{path}", self.base);
            let headers = [("authorization", authorization.as_str())];
            let answer = self.http.call(method.clone(), &url, &headers, body.clone()).await?;
            if answer.status == 401 && !is_last {
                self.renew().await;
                continue;
            }
            let found = answer.json();
            let code = found["code"].as_i64().or(found["err_code"].as_i64()).unwrap_or(0);
            if answer.is_success() && code == 0 {
                return Ok(Some(found));
            }
            if code == DOUBLE_CODE {
                return Ok(None);
            }
            let why = self.http.reason(&format!(
                "{} ({code})",
                found["message"].as_str().unwrap_or("the platform returned no reason")
            ));
            return Err(match answer.status {
                401 => Failure::Account(why),
                429 => answer.too_fast(),
                _ if code == 22_009 => answer.too_fast(),
                _ if EXPIRED_CODES.contains(&code) => Failure::Expired,
                500.. => Failure::Unknown(format!("status {}", answer.status)),
                _ => Failure::Message(why),
            });
        }
        Err(Failure::Account("the platform rejects the token, even a newly issued one".to_owned()))
    }
}
