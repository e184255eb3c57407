//! `logging`: an event becomes a line of the server's log.

use futures_util::future::{BoxFuture, ready};
use hooks::dialect::Dialect;
use hooks::{Event, Said};
use serde_json::{Map, Value};

use super::{Callback, Called, Nothing, arguments};
use crate::limits::HOOK_LOGGED_BYTES;

/// Writes lines to the server's log.
pub struct Logging;

impl Callback for Logging {
    fn name(&self) -> &'static str {
        "logging"
    }

    fn about(&self) -> &'static str {
        "writes a line about the event, with its data as far as 2 KiB, to the server's log"
    }

    fn events(&self) -> &'static [Event] {
        &Event::ALL
    }

    fn check(&self, input: &Map<String, Value>) -> Result<(), String> {
        arguments::<Nothing>(input).map(drop)
    }

    fn call<'a>(&'a self, called: Called<'a>) -> BoxFuture<'a, Result<Said, String>> {
        let Called { user, chat, is_trial, event, payload, .. } = called;
        let (user, event) = (user.name.as_str(), event.name(Dialect::Own));
        let chat = chat.map(ToString::to_string).unwrap_or_default();
        let text = &payload.text[..payload.text.floor_char_boundary(HOOK_LOGGED_BYTES)];
        if is_trial {
            let text = Some(format!("user={user} chat={chat} event={event} a hook logs {text}"));
            return Box::pin(ready(Ok(Said { text, ..Said::default() })));
        }
        tracing::info!(user, chat, event, "a hook logs {text}");
        Box::pin(ready(Ok(Said::default())))
    }
}
