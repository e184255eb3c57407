//! Commits arriving events before their receipt is acknowledged to the messenger.

use std::sync::Arc;

use api::words::ChannelState;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use platforms::event::What;
use platforms::platform::{Caps, End, Unit};
use platforms::{
    Button, Conversation, Event, Failure, FileOut, Inbox, Media, Outgoing, Platform, Sent, Styled,
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use store::limits::{CHANNEL_EVENT_MAX_BYTES, CHANNEL_ID_MAX_BYTES, CHANNEL_LANE_WAITING};
use store::{ChannelLane, NewEvent, hex};
use tokio_util::sync::CancellationToken;

use crate::answers::{Target, parts};
use crate::codes::Code;
use crate::error::Result as Done;
use crate::house::{Inner, Live, to_json};
use crate::limits::FULL_TOLD_EVERY_MS;

/// Accepts the events that arrive at one account.
pub(crate) struct AccountInbox {
    inner: Arc<Inner>,
    live: Live,
}

impl AccountInbox {
    pub(crate) fn new(inner: &Arc<Inner>, live: &Live) -> Self {
        Self { inner: Arc::clone(inner), live: live.clone() }
    }

    /// Informs a linked person, at most once an hour, that their messages in a conversation are being dropped.
    async fn tell_full(&self, lane: &ChannelLane, events: &[Event]) -> Done<()> {
        let (store, account) = (&self.inner.store, &self.live.account);
        let is_of =
            |event: &&Event| event.conversation.id == lane.conversation && event.sender.id == lane.person;
        let (Some(event), Some(user)) =
            (events.iter().find(is_of), store.linked_user(account, &lane.person).await?)
        else {
            return Ok(());
        };
        let text = format!(
            "{CHANNEL_LANE_WAITING} of your messages are already waiting here; further ones are dropped."
        );
        let text = self.inner.chats.language(user).translated(&text).into_owned();
        let target = Target::unasked(&lane.conversation, event.conversation.is_group, Some(user));
        let target = Target { reply_json: event.reply.to_string(), ..target };
        let line = hex(&Sha256::digest(to_json(&(&lane.conversation, &lane.person))));
        let source = format!("full/{line}/{}", store.now_ms() / FULL_TOLD_EVERY_MS);
        let rows = target.rows(account.id, &source, parts(&*self.live.platform, &Styled::plain(&text), "…"));
        Ok(store.add_outgoing(account.id, account.user, &rows).await?)
    }
}

/// Returns true for events that get no answer: those of bots and of this account, edited messages, and group messages without a mention. A code in a
/// group is always handled, because other members have read it and it must be made invalid.
fn is_ignored(event: &Event) -> bool {
    let is_group = event.conversation.is_group;
    match &event.what {
        What::Message(message) => {
            let is_for_us = !message.is_edited && (!is_group || message.mentions_us);
            let is_of_use = is_for_us || (is_group && !Code::all(&message.text, 1).is_empty());
            event.sender.is_bot || !is_of_use
        }
        What::Press(_) => event.sender.is_bot,
        What::Removed | What::Moved { .. } => false,
    }
}

impl Inbox for AccountInbox {
    fn take<'a>(&'a self, events: Vec<Event>, cursor: Option<String>) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            // If the account was changed, a newer task is responsible for it and its cursor.
            let is_current = self
                .inner
                .live(self.live.account.id)
                .is_some_and(|live| live.account.revision == self.live.account.revision);
            if !is_current {
                return Err("the account was changed".to_owned());
            }
            let new = |event: &Event| NewEvent {
                platform_id: event.id.clone(),
                conversation: event.conversation.id.clone(),
                person: event.sender.id.clone(),
                event_json: to_json(event),
            };
            // Events that can never be stored are left out, because the messenger would deliver them again and again.
            let is_sound = |event: &NewEvent| {
                let ids = [&event.platform_id, &event.conversation, &event.person];
                let is_sound = ids.iter().all(|id| !id.is_empty() && id.len() <= CHANNEL_ID_MAX_BYTES)
                    && event.event_json.len() <= CHANNEL_EVENT_MAX_BYTES;
                if !is_sound {
                    let channel = &self.live.account.name;
                    tracing::warn!(
                        channel,
                        "an event was left out because it is too long or its ids are missing or too long"
                    );
                }
                is_sound
            };
            let new: Vec<NewEvent> =
                events.iter().filter(|event| !is_ignored(event)).map(new).filter(is_sound).collect();
            let store = &self.inner.store;
            let taken = store.take_events(&self.live.account, &new, cursor.as_deref()).await;
            let taken = taken.map_err(|error| {
                tracing::warn!(%error, channel = self.live.account.name, "events could not be stored; the messenger will send them again");
                error.shown()
            })?;
            for lane in &taken.full {
                if let Err(error) = self.tell_full(lane, &events).await {
                    tracing::error!(%error, "a person could not be informed that their messages are dropped");
                }
            }
            if taken.added > 0 || !taken.full.is_empty() {
                self.inner.wake.notify_one();
            }
            Ok(())
        })
    }

    fn cursor(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async {
            let cursor = self.inner.store.channel_cursor(self.live.account.id).await;
            cursor.inspect_err(|error| tracing::error!(%error, "a cursor could not be read")).ok().flatten()
        })
    }

    fn alive(&self) {
        let now_ms = self.inner.store.now_ms();
        self.live.note(|status| status.last_traffic_ms = Some(now_ms));
    }

    fn connected(&self, name: &str) {
        let now_ms = self.inner.store.now_ms();
        self.live.note(|status| {
            if status.state != ChannelState::Connected {
                status.since_ms = Some(now_ms);
            }
            status.state = ChannelState::Connected;
            status.last_traffic_ms = Some(now_ms);
            name.clone_into(&mut status.connected_as);
        });
        self.inner.wake.notify_one();
    }

    fn gap(&self, why: &str) {
        tracing::warn!(channel = self.live.account.name, why, "messages of a channel may have been missed");
        self.live.note(|status| why.clone_into(&mut status.gap));
    }
}

/// The substitute platform of an account whose own platform cannot be created; it contains the reason.
pub(crate) struct Unusable(pub(crate) String);

impl Unusable {
    fn refused<T: Send + 'static>(&self) -> BoxFuture<'_, Result<T, Failure>> {
        Box::pin(async { Err(Failure::Account(self.0.clone())) })
    }
}

impl Platform for Unusable {
    fn caps(&self) -> Caps {
        Caps {
            text_max: 1_000,
            unit: Unit::Bytes,
            buttons: false,
            edits: false,
            edit_every_ms: 1_000,
            send_every_ms: 1_000,
            key_lifetime_ms: None,
            reply_window_ms: None,
            replies_max: None,
            replays: false,
            file_max_bytes: 0,
        }
    }

    fn probe(&self) -> BoxFuture<'_, Result<String, Failure>> {
        self.refused()
    }

    fn run<'a>(&'a self, _inbox: &'a dyn Inbox, _stop: &'a CancellationToken) -> BoxFuture<'a, End> {
        Box::pin(async { End::Refused(self.0.clone()) })
    }

    fn render(&self, _text: &Styled, _buttons: &[Button]) -> Vec<Outgoing> {
        vec![Outgoing { payload: Value::Null }]
    }

    fn send<'a>(
        &'a self,
        _to: &'a Conversation,
        _message: &'a Outgoing,
        _reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        self.refused()
    }

    fn edit<'a>(
        &'a self,
        _to: &'a Conversation,
        _id: &'a str,
        _message: &'a Outgoing,
    ) -> BoxFuture<'a, Result<(), Failure>> {
        self.refused()
    }

    fn send_file<'a>(
        &'a self,
        _to: &'a Conversation,
        _file: &'a FileOut,
        _reply: &'a Value,
        _key: &'a str,
    ) -> BoxFuture<'a, Result<Sent, Failure>> {
        self.refused()
    }

    fn answer_press<'a>(&'a self, _handle: &'a Value, _text: &'a str) -> BoxFuture<'a, Result<(), Failure>> {
        self.refused()
    }

    fn fetch<'a>(&'a self, _media: &'a Media, _max_bytes: u64) -> BoxFuture<'a, Result<Bytes, Failure>> {
        self.refused()
    }
}

#[cfg(test)]
mod tests {
    use platforms::Sender;
    use platforms::event::{Message, Press};

    use super::*;

    fn event(is_group: bool, is_bot: bool, what: What) -> Event {
        Event {
            id: "1".to_owned(),
            at_ms: 0,
            conversation: Conversation { id: "c".to_owned(), is_group },
            sender: Sender { id: "p".to_owned(), name: String::new(), is_bot },
            what,
            reply: Value::Null,
        }
    }

    #[test]
    fn talk_of_bots_and_of_groups_is_ignored_unless_it_holds_a_code() {
        let say = |text: &str, mentions_us, is_edited| {
            let (id, text) = ("1".to_owned(), text.to_owned());
            What::Message(Message { id, text, mentions_us, is_edited, quoted: None, media: Vec::new() })
        };
        let press = What::Press(Press { token: String::new(), message: String::new(), handle: Value::Null });
        let code = format!("here: {}!", Code::random());
        for (is_group, is_bot, what, wanted) in [
            (false, false, say("hi", false, false), false),
            (false, false, say("hi", false, true), true),
            (false, true, say("hi", false, false), true),
            (true, false, say("hi", false, false), true),
            (true, false, say("hi", true, false), false),
            (true, false, say("hi", true, true), true),
            (true, false, say(&code, false, false), false),
            (true, false, say(&code, false, true), false),
            (false, false, press.clone(), false),
            (false, true, press, true),
            (true, true, What::Removed, false),
        ] {
            let event = event(is_group, is_bot, what);
            assert_eq!(is_ignored(&event), wanted, "{event:?}");
        }
    }
}
