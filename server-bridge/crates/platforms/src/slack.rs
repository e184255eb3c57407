//! Slack: the Web API, and events over Socket Mode.
//!
//! ```text
//!   apps.connections.open ─▶ wss ─▶ hello ─▶ envelope ─▶ Inbox::take ─▶ {"envelope_id"}, within 3 s
//!   disconnect ─▶ a new connection ─▶ the old one is read until it ends
//! ```
//! Texts are sent as blocks of rich text, in which nothing needs to be escaped.

mod connection;
mod events;
mod render;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use guard::Reach;
use reqwest::{Method, Url};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::card::Card;
use crate::event::{Conversation, Event, Media};
use crate::http::{Body, Http};
use crate::limits::{REQUEST_TIMEOUT, TRANSFER_TIMEOUT};
use crate::names;
use crate::platform::{
    Button, Caps, End, Failure, FileOut, Inbox, Kind, Outgoing, Platform, Sent, Setup, Unit, setting,
};
use crate::styled::Styled;
use events::Us;

/// The largest file that is sent, in bytes; Slack accepts up to 1 GB.
const FILE_MAX_BYTES: u64 = 100 << 20;
/// The longest file name, in characters.
const FILE_NAME_MAX_CHARS: usize = 100;
/// How long looking up a name may delay an event, which has to be acknowledged within 3 s.
const NAME_PATIENCE: Duration = Duration::from_millis(700);
/// The maximum number of people's names that are cached.
const NAMES_MAX: usize = 1000;

const SETUP: &[Setup] = &[
    Setup {
        key: "app_token",
        label: "App-level token",
        help: "On api.slack.com/apps, create an app, turn on Socket Mode, and create an app-level token with the scope connections:write. It begins with xapp-.",
        is_secret: true,
        default: None,
    },
    Setup {
        key: "bot_token",
        label: "Bot token",
        help: "Under OAuth & Permissions add the scopes app_mentions:read, channels:history, chat:write, files:read, files:write, groups:history, im:history and users:read; under Event Subscriptions add the bot events app_mention, message.channels, message.groups and message.im; turn on Interactivity; under App Home allow messages from the Messages tab; then install the app. The token begins with xoxb-.",
        is_secret: true,
        default: None,
    },
    Setup {
        key: "api",
        label: "Address of the Web API",
        help: "Change it only if your workspace uses another API address.",
        is_secret: false,
        default: Some("https://slack.com/api"),
    },
];

/// Slack as a kind of platform.
pub(crate) const KIND: Kind = Kind { name: "slack", title: "Slack", setup: SETUP, make };

fn make(values: &Value, reach: &Reach) -> Result<Arc<dyn Platform>, String> {
    let token = |key: &str, prefix: &str| {
        let token = setting(SETUP, values, key)?;
        let is_token = token.starts_with(prefix) && token.chars().all(|c| c.is_ascii_graphic());
        if is_token { Ok(token) } else { Err(format!("this token must begin with {prefix}: {}", label(key))) }
    };
    let (app_token, bot_token) = (token("app_token", "xapp-")?, token("bot_token", "xoxb-")?);
    let http = Http::new(reach, &[&app_token, &bot_token])?;
    let api = http.base(&setting(SETUP, values, "api")?)?;
    Ok(Arc::new(Slack { http, api, app_token, bot_token, names: Mutex::default() }))
}

fn label(key: &str) -> &'static str {
    SETUP.iter().find(|known| known.key == key).map_or("", |known| known.label)
}

/// One app in one workspace.
struct Slack {
    http: Http,
    api: String,
    app_token: String,
    bot_token: String,
    /// The names of people, by their ids.
    names: Mutex<HashMap<String, String>>,
}

impl Slack {
    /// Calls a method with a token; returns the response, or the failure.
    async fn call(
        &self,
        method: &str,
        token: &str,
        body: Body,
        patience: Duration,
    ) -> Result<Value, Failure> {
        let url = format!("{}/{method}", self.api);
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str())];
        let answer = self.http.call_within(Method::POST, &url, &headers, body, patience).await?;
        let document = answer.json();
        if document["ok"] == json!(true) {
            return Ok(document);
        }
        if answer.status == 429 {
            return Err(answer.too_fast());
        }
        let Some(error) = document["error"].as_str() else {
            return Err(match answer.status {
                500.. => Failure::Unknown(format!("status {}", answer.status)),
                status => Failure::Away(format!("status {status}")),
            });
        };
        let why = self.http.reason(error);
        Err(match error {
            "ratelimited" | "rate_limited" | "message_limit_exceeded" => answer.too_fast(),
            "invalid_auth"
            | "not_authed"
            | "account_inactive"
            | "token_revoked"
            | "token_expired"
            | "no_permission"
            | "missing_scope"
            | "not_allowed_token_type"
            | "team_access_not_granted"
            | "access_denied" => {
                let needed = document["needed"]
                    .as_str()
                    .map(|scope| format!("; it needs {}", self.http.reason(scope)));
                Failure::Account(format!("{why}{}", needed.unwrap_or_default()))
            }
            "channel_not_found"
            | "is_archived"
            | "not_in_channel"
            | "user_not_found"
            | "cannot_dm_bot"
            | "restricted_action"
            | "channel_is_archived"
            | "messages_tab_disabled" => Failure::Closed(why),
            "internal_error" | "fatal_error" | "service_unavailable" | "request_timeout" => {
                Failure::Unknown(why)
            }
            _ => Failure::Message(why),
        })
    }

    async fn ask(&self, method: &str, body: Value) -> Result<Value, Failure> {
        self.call(method, &self.bot_token, Body::Json(body), REQUEST_TIMEOUT).await
    }

    async fn us(&self) -> Result<Us, Failure> {
        let us = self.call("auth.test", &self.bot_token, Body::Form(Vec::new()), REQUEST_TIMEOUT).await?;
        let text = |key: &str| us[key].as_str().unwrap_or_default().to_owned();
        if text("user_id").is_empty() {
            return Err(Failure::Away("the response to auth.test contains no bot id".to_owned()));
        }
        Ok(Us {
            user: text("user_id"),
            bot: text("bot_id"),
            shown: format!("@{} ({})", names::person(&text("user")), names::person(&text("team"))),
        })
    }

    /// Adds the sender's name to an event, if Slack returns it in time.
    async fn named(&self, mut event: Event) -> Event {
        let id = event.sender.id.clone();
        if event.sender.is_bot || !event.sender.name.is_empty() {
            return event;
        }
        let known = self.names.lock().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        event.sender.name = match known {
            Some(name) => name,
            None => {
                let body = Body::Form(vec![("user".to_owned(), id.clone())]);
                let user =
                    self.call("users.info", &self.bot_token, body, NAME_PATIENCE).await.unwrap_or_default();
                let user = &user["user"];
                let name = [&user["profile"]["display_name"], &user["real_name"], &user["name"]];
                let name = name.into_iter().filter_map(Value::as_str).find(|name| !name.is_empty());
                let name = names::person(name.unwrap_or_default());
                let mut kept = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= NAMES_MAX {
                    kept.clear();
                }
                kept.insert(id, name.clone());
                name
            }
        };
        event
    }
}

/// Splits a conversation's id into the channel and the thread.
fn parted(id: &str) -> (&str, Option<&str>) {
    id.split_once('/').map_or((id, None), |(channel, thread)| (channel, Some(thread)))
}

impl Platform for Slack {
    fn caps(&self) -> Caps {
        Caps {
            text_max: render::TEXT_MAX_CHARS,
            unit: Unit::Chars,
            buttons: true,
            edits: true,
            // Slack's tier 3 allows 50 requests a minute.
            edit_every_ms: 1500,
            send_every_ms: 1050,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: true,
            file_max_bytes: FILE_MAX_BYTES,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move {
            let us = self.us().await?;
            // Checks the app token as well. Requesting an address without using it has no effect.
            self.open().await?;
            Ok(us.shown)
        })
    }

    fn run<'a>(&'a self, inbox: &'a dyn Inbox, stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async move {
            tokio::select! {
                end = self.connect(inbox) => end,
                () = stop.cancelled() => End::Stopped,
            }
        })
    }

    fn render(&self, text: &Styled, buttons: &[Button]) -> Vec<Outgoing> {
        render::messages(text, buttons)
    }

    fn render_card(&self, card: &Card, buttons: &[Button]) -> Vec<Outgoing> {
        render::card(card, buttons)
            .map_or_else(|| render::messages(&card.styled(), buttons), |card| vec![card])
    }

    fn send<'a>(
        &'a self,
        to: &'a Conversation,
        message: &'a Outgoing,
        _reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            let (channel, thread) = parted(&to.id);
            let mut body = message.payload.clone();
            body["channel"] = json!(channel);
            if let Some(thread) = thread {
                body["thread_ts"] = json!(thread);
            }
            // Link previews are off, so that a model cannot make Slack load a page.
            body["unfurl_links"] = json!(false);
            body["unfurl_media"] = json!(false);
            let sent = self.ask("chat.postMessage", body).await?;
            let id = sent["ts"]
                .as_str()
                .ok_or_else(|| Failure::Unknown("the response contains no message id".to_owned()))?;
            Ok(Sent { id: id.to_owned() })
        })
    }

    fn edit<'a>(
        &'a self,
        to: &'a Conversation,
        id: &'a str,
        message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let mut body = message.payload.clone();
            body["channel"] = json!(parted(&to.id).0);
            body["ts"] = json!(id);
            self.ask("chat.update", body).await.map(drop)
        })
    }

    fn send_file<'a>(
        &'a self,
        to: &'a Conversation,
        file: &'a FileOut,
        _reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        Box::pin(async move {
            // The file is not visible to anybody until the upload is completed.
            let not_yet = |failure| match failure {
                Failure::Unknown(why) => Failure::Away(why),
                other => other,
            };
            let name: String = names::file(&file.name).chars().take(FILE_NAME_MAX_CHARS).collect();
            let name = if name.is_empty() { "file".to_owned() } else { name };
            let wanted = vec![
                ("filename".to_owned(), name.clone()),
                ("length".to_owned(), file.bytes.len().to_string()),
            ];
            let method = "files.getUploadURLExternal";
            let place = self
                .call(method, &self.bot_token, Body::Form(wanted), REQUEST_TIMEOUT)
                .await
                .map_err(not_yet)?;
            let (Some(url), Some(id)) = (place["upload_url"].as_str(), place["file_id"].as_str()) else {
                return Err(Failure::Away("Slack returned no address to upload the file to".to_owned()));
            };
            let body = Body::Bytes("application/octet-stream".to_owned(), file.bytes.clone());
            let uploaded = self
                .http
                .call_within(Method::POST, url, &[], body, TRANSFER_TIMEOUT)
                .await
                .map_err(not_yet)?;
            match uploaded.status {
                200..300 => {}
                429 => return Err(uploaded.too_fast()),
                500.. => return Err(Failure::Away(format!("status {}", uploaded.status))),
                status => {
                    return Err(Failure::Message(format!("Slack refuses the file with status {status}")));
                }
            }
            let (channel, thread) = parted(&to.id);
            let mut body = json!({"files": [{"id": id, "title": name}], "channel_id": channel});
            if let Some(thread) = thread {
                body["thread_ts"] = json!(thread);
            }
            self.ask("files.completeUploadExternal", body).await?;
            Ok(Sent { id: id.to_owned() })
        })
    }

    fn answer_press<'a>(&'a self, handle: &'a Value, text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            let Some(url) = handle.as_str() else { return Ok(()) };
            let body = json!({"response_type": "ephemeral", "replace_original": false, "text": render::escaped(text)});
            let answer = self.http.call(Method::POST, url, &[], Body::Json(body)).await?;
            match answer.status {
                200..300 => Ok(()),
                429 => Err(answer.too_fast()),
                404 | 410 => Err(Failure::Expired),
                500.. => Err(Failure::Unknown(format!("status {}", answer.status))),
                status => Err(Failure::Message(format!("status {status}"))),
            }
        })
    }

    fn fetch<'a>(&'a self, media: &'a Media, max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        Box::pin(async move {
            let url = media.handle.as_str().unwrap_or_default();
            let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
            let (place, api) = (host(url).unwrap_or_default(), host(&self.api).unwrap_or_default());
            // The token is sent only to Slack.
            let is_slacks =
                place == api || [".slack.com", ".slack-files.com"].iter().any(|end| place.ends_with(end));
            if !is_slacks {
                return Err(Failure::Message("the file is not on Slack".to_owned()));
            }
            let token = format!("Bearer {}", self.bot_token);
            let bytes = self.http.fetch(url, &[("authorization", &token)], max_bytes).await?;
            let is_page = bytes.trim_ascii_start().to_ascii_lowercase().starts_with(b"<!doctype html");
            if is_page && !media.name.to_ascii_lowercase().contains(".htm") {
                return Err(Failure::Account(
                    "Slack shows its login page instead of the file; the bot needs files:read".to_owned(),
                ));
            }
            Ok(bytes)
        })
    }
}
